import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { codesBelow, codesIn } from './error-codes.ts'
import { firstColumn, section } from './markdown.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const page = await readFile(`${ROOT}/docs/errors.md`, 'utf8')
const produced = await codesBelow(ROOT, ['workflows', 'activities', 'worker/reconciler'])
const reasons = ['## Reasons', '## Events of Disruptions', '## Chaos pods without a kubelet'].flatMap((title) => [
  ...firstColumn(section(page, title)),
])
const answers = firstColumn(section(page, '## Answers of the API server'))
const conditions = firstColumn(section(page, '## Conditions'))
const codes = firstColumn(section(page, '## Codes'))

describe('the table of errors', () => {
  it('explains every code that the code produces', () => {
    const known = new Set([...reasons, ...answers, ...conditions, ...codes])
    expect([...produced].filter((code) => !known.has(code))).toEqual([])
  })

  it('explains no code that nothing produces', () => {
    expect([...reasons, ...conditions, ...codes].filter((code) => !produced.has(code))).toEqual([])
  })

  it('explains each code once', () => {
    const all = [...reasons, ...answers, ...conditions]
    expect(all.filter((code, index) => all.indexOf(code) !== index)).toEqual([])
  })
})

describe('the search for codes', () => {
  it.each([
    ["return fail('Broken', 'x')", ['Broken']],
    ["throw finalFailure(\n  'ERR_SOME_THING',\n  'x')", ['ERR_SOME_THING']],
    ["throw new BlueprintError('Broken', 'x')", ['Broken']],
    ["return fail(bad ? 'OneWay' : 'OtherWay', 'x')", ['OneWay', 'OtherWay']],
    ["const error = { operation: 'Reconcile', reason: 'Broken', message: 'Text' }", ['Broken']],
    ["const codes = ['ERR_A_B']", ['ERR_A_B']],
    ["const plan = { errorCodes: { Broken: ['ERR_BROKEN'] } }", ['ERR_BROKEN']],
    ["verdict({ reason: 'nothing changed' }); if (error.code === 'ERR_OF_NODE') stop('Word')", []],
  ])('finds in %j the codes %j', (text, expected) => {
    expect([...codesIn('x.ts', text)]).toEqual(expected)
  })
})
