// Tests the compiler with the document of the RFC and with each defect of the first implementation. Source:
// seeds/ctrlkit-rfc.txt, spec/kit.md 1, 2 and 7.

import { describe, expect, it } from 'vitest'

import { compile } from '../../../../workflows/kit/dsl/index.ts'
import { camelCase } from '../../../../workflows/kit/dsl/names.ts'
import { OPTIONS, problems, RFC_DOCUMENT } from './documents.ts'

const HEAD = `bind v1 ./core.ts
bind demo/v1 ./cron-job.ts
alias Cron demo/v1/CronJob
alias Pod v1/Pod
`

// The generated code of a declaration with these states and actions.
function codeFor(states: string, actions: string): string {
  const { code, diagnostics } = compile(
    `${HEAD}decl X for Cron {\nstate {\n${states}\n}\naction {\n${actions}\n}\n}\n`,
    OPTIONS,
  )
  expect(diagnostics).toEqual([])
  return code ?? ''
}

describe('the document of the RFC', () => {
  it('compiles when its modules are TypeScript modules', () => {
    expect(problems(RFC_DOCUMENT)).toEqual([])
  })

  it('has only diagnostics for its Go modules', () => {
    const original = RFC_DOCUMENT.replace('./core.ts', 'k8s.io/api/core/v1')
      .replace('./batch.ts', 'k8s.io/api/batch/v1')
      .replace('./cron-job.ts', 'controller-kit-demo/api/v1')
    expect(problems(original).map((problem) => problem.slice(0, 10))).toEqual(['1:9 CM023 ', '2:15 CM023'])
  })

  it('compiles without line ends where no comment needs one', () => {
    const oneLine = RFC_DOCUMENT.replace(/^ *\/\/.*\n/gm, '').replace(/(decl[\s\S]*)$/, (body) =>
      body.replace(/\s+/g, ' '),
    )
    expect(problems(oneLine)).toEqual([])
  })
})

describe('a case that the first implementation got wrong', () => {
  it('compiles: quotes in values', () => {
    const code = codeFor(`a []Pod { fields/metadata.name="it's \\"so\\"" }`, 'A(a)')
    expect(code).toContain(`fields: { 'metadata.name': 'it\\'s "so"' }`)
    expect(codeFor(`a []Pod { fields/metadata.name=it's }`, 'A(a)')).toContain(`'metadata.name': "it's"`)
  })

  it('gets a diagnostic: an unclosed block, a second state, an unknown selector', () => {
    const text = `${HEAD}decl X for Cron {\n  state {\n    a []Pod { owned }\n    a []Pod { ownd }\n`
    expect(problems(text).map((problem) => problem.split(' ').slice(0, 2).join(' '))).toEqual([
      '5:6 CM052',
      '5:17 CM004',
      '6:9 CM004',
      '8:5 CM020',
      '8:15 CM030',
    ])
  })

  it('compiles: two aliases of kinds with one name, from modules with one name', () => {
    const text = `bind a/v1 ./a/v1.ts
bind b/v1 ./b/v1.ts
alias A a/v1/Thing
alias B b/v1/Thing
decl X for A { state { b []B { } } action { Act(b) } }`
    expect(compile(text, OPTIONS).code).toContain(
      "import type { Thing as A } from './a/v1.ts'\nimport type { Thing as B } from './b/v1.ts'\n",
    )
  })

  it('compiles: a module of one word', () => {
    expect(compile('bind a/v1 things\nalias A a/v1/Thing\ndecl X for A { action { Act() } }', OPTIONS).code).toContain(
      "import type { Thing as A } from 'things'\n",
    )
  })

  it('compiles: a line that is longer than 64 KiB', () => {
    expect(problems(`// ${'x'.repeat(70_000)}\n${RFC_DOCUMENT}`)).toEqual([])
  })

  it('compiles: comments of states become documentation', () => {
    const code = codeFor('// Old.\n\n// The pods,\n// all.\n\na []Pod { }', 'A(a)')
    expect(code).toContain('  /**\n   * The pods,\n   * all.\n   */\n  readonly a: readonly Pod[]\n')
    expect(code).not.toContain('Old.')
  })
})

describe('a name in generated code', () => {
  it.each([
    ['CleanUp', 'cleanUp'],
    ['cleanUp', 'cleanUp'],
    ['HTTPProbe', 'httpProbe'],
    ['URL', 'url'],
    ['A', 'a'],
    ['AB2', 'ab2'],
    ['A_b', 'a_b'],
    ['x', 'x'],
  ])('%s is %s', (name, expected) => {
    expect(camelCase(name)).toBe(expected)
  })
})
