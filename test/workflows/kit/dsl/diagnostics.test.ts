import { describe, expect, it } from 'vitest'

import { type Code, CODES, compile, formatDiagnostic } from '../../../../workflows/kit/dsl/index.ts'
import { OPTIONS, problems } from './documents.ts'
import { CASES, decl, HEAD, selector } from './wrong-documents.ts'

describe('a document with a mistake', () => {
  it.each(CASES.map(([text, ...expected]) => ({ text, expected })))(
    'gets the diagnostic $expected.0',
    ({ text, expected }) => {
      const found = problems(text)
      expect(found.map((problem, index) => problem.slice(0, expected[index]?.length))).toEqual(expected)
    },
  )

  it('may have any mistake that has a code', () => {
    const shown = new Set(CASES.flatMap(([, ...expected]) => expected.flatMap((text) => /CM\d{3}/.exec(text) ?? [])))
    expect([...shown].sort()).toEqual(Object.keys(CODES).sort())
  })

  it('produces no code for an error, and code for a warning', () => {
    const codes = (text: string) => compile(text, OPTIONS)
    expect(codes(selector('name')).code).toBeUndefined()
    expect(codes(decl('    pods []Pod { }')).code).toContain('pods: { kind:')
  })
})

describe('a reference to a label', () => {
  it.each(['team', 'app.kubernetes.io/name', 'a.b'])('may have the key %s', (key) => {
    const text = selector(`name=\${target.metadata.labels.${key}}`)
    expect(problems(text)).toEqual([])
    expect(compile(text, OPTIONS).code).toContain(`name: '\${target.metadata.labels.${key}}'`)
  })
})

describe('names', () => {
  it('are not reserved in modes that do not use them', () => {
    expect(problems(`${HEAD}alias XObservation v1/Pod\nalias Pass v1/Pod\ndecl X for Cron { action { A() } }`)).toEqual(
      [],
    )
    expect(
      problems(`${HEAD}alias XState v1/Pod\nalias XPass v1/Pod\ndecl X for Cron as job { action { A() } }`),
    ).toEqual([])
  })
})

describe('a document with many mistakes', () => {
  const text = `bind v1 ./core.ts
bind v1
alia Pod v1/Pod
alias Cron v1/Cron
decl X for Cron {
  state {
    a []Pod { labels/a=\${target.Name }
    b Pod { nam=x }
  }
  action {
    A(a, c
    B b()
  }
`
  it('gets all diagnostics in the order of the text', () => {
    expect(problems(text).map((problem) => problem.split(' ').slice(0, 2).join(' '))).toEqual([
      '2:6 CM020',
      '2:8 CM003',
      '3:1 CM006',
      '5:17 CM004',
      '7:24 CM002',
      '8:13 CM030',
      '11:10 CM025',
      '11:11 CM003',
      '12:7 CM003',
    ])
  })
})

describe('a diagnostic as text', () => {
  const format = (text: string) =>
    compile(text, OPTIONS).diagnostics.map((found) => formatDiagnostic('x.cm', text, found))

  it('shows the line with carets below the range and keeps tabs', () => {
    expect(format('bind v1 ./core.ts\n\talias\tPod\tv1/pod // ok')).toEqual([
      "x.cm:2:12: error CM021: found 'v1/pod'; expected group, version and kind, such as batch/v1/Job\n" +
        '  \talias\tPod\tv1/pod // ok\n' +
        '  \t     \t   \t^^^^^^',
    ])
  })

  it('says warning when it is one', () => {
    expect(format(`${HEAD}decl X for Cron { }`)[0]).toMatch(/^x\.cm:6:6: warning CM052: /)
  })

  it('shows the part of a long line around the range', () => {
    const [shown = ''] = format(`bind v1 ./${'x'.repeat(5000)}`)
    expect(Math.max(...shown.split('\n').map((line) => line.length))).toBeLessThan(200)
    const [late = ''] = format(`bind v1 ./${'x'.repeat(5000)}.ts more`)
    const [, line = '', caret = ''] = late.split('\n')
    expect(line.slice(caret.indexOf('^'), caret.length)).toBe('more')
  })

  it('contains no control characters', () => {
    const [shown = ''] = format('bind v1 ./a\u001b[31m')
    expect(shown).not.toContain('\u001b')
    expect(shown).toContain('\ufffd[31m')
  })

  it('counts lines for all kinds of line ends', () => {
    expect(problems('bind v1 ./a.ts\r\nbind v2 ./b.ts\rbind v3 ./c.ts').map((found) => found.slice(0, 9))).toEqual([
      '2:6 CM021',
      '3:6 CM021',
    ])
  })
})

const isCode = (code: string): code is Code => code in CODES
it('has codes of one form', () => {
  expect(Object.keys(CODES).every((code) => isCode(code) && /^CM\d{3}$/.test(code))).toBe(true)
})
