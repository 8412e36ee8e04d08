import fc from 'fast-check'
import { format } from 'prettier'
import { describe, expect, it } from 'vitest'

import { compile, type CompileOptions, print } from '../../../../workflows/kit/dsl/index.ts'
import { again, done, type LevelPass } from '../../../../workflows/kit/index.ts'
import { fakeRuntime } from '../plan/fake-runtime.ts'
import { rightDocument } from './arbitraries.ts'
import { compilerErrors } from '../../../support/compiler/compiler-errors.ts'
import { golden, lookup, OPTIONS } from './documents.ts'
import { cronSteps } from './golden/everything.gen.ts'
import { backupSteps, type BackupObservation } from './golden/modes.gen.ts'

const HERE = 'test/workflows/kit/dsl/golden'
const GOLDEN: CompileOptions = { ...OPTIONS, kit: '../../../../../workflows/kit/index.ts', lookup }

const GOLDEN_FILES = ['rfc', 'everything', 'modes']

function codeOf(text: string, options: CompileOptions = OPTIONS): string {
  const { code, diagnostics } = compile(text, options)
  expect(diagnostics.filter(({ severity }) => severity === 'error')).toEqual([])
  return code ?? ''
}

const prettier = (code: string) =>
  format(code, { parser: 'typescript', semi: false, singleQuote: true, printWidth: 120 })

describe('the code of the golden documents', () => {
  it.each(GOLDEN_FILES)('%s is unchanged', async (name) => {
    const code = codeOf(golden(`${name}.cm`), { ...GOLDEN, source: `${name}.cm` })
    await expect(code).toMatchFileSnapshot(`golden/${name}.gen.ts`)
  })

  it('compiles under the flags of the project', { timeout: 60_000 }, () => {
    const files = GOLDEN_FILES.map((name) => [`${HERE}/${name}.gen.ts`, golden(`${name}.gen.ts`)] as const)
    expect(compilerErrors(new Map(files))).toEqual([])
  })

  it('requires that the pass contains the states of the document', { timeout: 60_000 }, () => {
    const use = (state: string) =>
      `import { type Outcome, done } from '../../../../../workflows/kit/index.ts'
import { crewSteps } from './modes.gen.ts'
import type { Node, Pod } from './core.ts'
interface Pass { readonly state: { readonly target: Node } & ${state} }
export const steps = crewSteps({ call: (_pass: Pass, _members: readonly Pod[]): Outcome => done })
`
    const errors = (state: string) => compilerErrors(new Map([[`${HERE}/use.ts`, use(state)]]))
    expect(errors('{ readonly members: readonly Pod[]; readonly more: string }')).toEqual([])
    expect(errors('{ readonly member: readonly Pod[] }')).toHaveLength(1)
  })
})

describe('generated code', () => {
  it('has the format of prettier for names and values of any length', { timeout: 60_000 }, async () => {
    await fc.assert(
      fc.asyncProperty(rightDocument, async (document) => {
        const code = codeOf(print(document))
        expect(code).toBe(await prettier(code))
        expect(code.endsWith('\n')).toBe(true)
      }),
      { numRuns: 300 },
    )
  })

  it('compiles for all names and comments', { timeout: 60_000 }, () => {
    const codes = fc
      .sample(rightDocument, 40)
      .map((document) => codeOf(print(document), { ...GOLDEN, specifier: () => './kinds.ts' }))
    const kinds = ['Job', 'Pod', 'Zed']
      .map((kind) => `export interface ${kind} { readonly is${kind}: true }\n`)
      .join('')
    const files = codes.map((code, index) => [`${HERE}/random-${index}.gen.ts`, code] as const)
    expect(compilerErrors(new Map([[`${HERE}/kinds.ts`, kinds], ...files]))).toEqual([])
  })

  it('is equal for equal documents in any form', () => {
    const text = golden('everything.cm')
    expect(codeOf(print(compile(text, GOLDEN).document), GOLDEN)).toBe(codeOf(text, GOLDEN))
  })
})

describe('generated steps', () => {
  it('pass states to their actions and read fresh ones again', async () => {
    const calls: unknown[] = []
    const record =
      (name: string) =>
      (_pass: unknown, ...states: readonly unknown[]) => {
        calls.push([name, ...states])
        return Promise.resolve(name === 'delete' ? again(5) : done)
      }
    const steps = cronSteps({ tidyUp: record('tidyUp'), delete: record('delete'), check: record('check') })
    const state = { jobs: [], leader: undefined, everything: ['e'], nodes: ['old'], httpPods: ['h'], other: 'o' }
    const pass = { state, refresh: (name: string) => Promise.resolve(`new ${name}`) } as unknown as LevelPass<
      never,
      never
    >
    const outcomes = [steps.tidyUp, steps.delete, steps.check].map((step) => step.run(pass, fakeRuntime()))
    expect(await Promise.all(outcomes)).toEqual([done, again(5), done])
    expect(calls.sort()).toEqual([['check'], ['delete', ['h'], 'o', ['e'], 'new nodes'], ['tidyUp', [], 'new leader']])
    expect(Object.entries(steps).map(([name, step]) => [name, step.name])).toEqual([
      ['tidyUp', 'tidyUp'],
      ['delete', 'delete'],
      ['check', 'check'],
    ])
  })

  it('accept passes of any type in mode job, and synchronous actions', async () => {
    interface Pass {
      readonly state: BackupObservation & { readonly tries: number }
    }
    const steps = backupSteps({
      startPods: ({ state }: Pass, pods, leader) => again(state.tries + pods.length + (leader === undefined ? 0 : 1)),
      wait: ({ state }: Pass) => Promise.resolve(again(state.tries)),
    })
    const pods = [{ metadata: { name: 'a' } }]
    const pass = { state: { target: {}, pods, leader: undefined, tries: 40 } } as unknown as Pass
    expect(await steps.startPods.run(pass, fakeRuntime())).toEqual(again(41))
    expect(await steps.wait.run(pass, fakeRuntime())).toEqual(again(40))
    expect([steps.startPods.name, steps.wait.name]).toEqual(['startPods', 'wait'])
  })
})

describe('the head of generated code', () => {
  const small = 'bind v1 ./core.ts\nalias Pod v1/Pod\ndecl X for Pod { action { A() } }'

  it.each([
    ['// Licence\n\n// of all.\n', '// Licence\n//\n// of all.\n\n// Generated'],
    ['Licence  \r\nof all.', '// Licence\n// of all.\n\n// Generated'],
    ['/*\n * Licence\n */', '/*\n * Licence\n */\n\n// Generated'],
    ['/* a */ evil() /* b */', '// /* a */ evil() /* b */\n\n// Generated'],
    ['', '// Generated'],
  ])('has the boilerplate %j as a comment', async (boilerplate, expected) => {
    const code = codeOf(small, { ...OPTIONS, boilerplate })
    expect(code.slice(0, expected.length)).toBe(expected)
    expect(code).toBe(await prettier(code))
  })
  it('is a comment for any file name', () => {
    const code = codeOf(small, { ...OPTIONS, source: 'a\nevil().cm' })
    expect(code.split('\n')[0]).toBe('// Generated from a?evil().cm. Do not edit; run `npx pawl gen`.')
  })
})
