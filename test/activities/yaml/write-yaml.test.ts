// What Pawl writes as YAML means the same to every reader: Go's (kubectl, Landscaper), our own, and one of YAML 1.2.

import fc from 'fast-check'
import { afterAll, describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { createTemplateEngine } from '../../../activities/landscaper/render/engine/template-engine.ts'
import { readYaml } from '../../../activities/yaml/read-yaml.ts'
import { writeYaml } from '../../../activities/yaml/write-yaml.ts'

const engine = createTemplateEngine({ threads: 1, timeoutMs: 60_000 })
afterAll(() => engine.close())

async function byGo(text: string): Promise<unknown> {
  const template = '{{ fromYaml .text | mustToJson }}'
  const { output } = await engine.render({ engine: 'GoTemplate', name: 'go', template, binding: { text }, files: {} })
  return JSON.parse(output) as unknown
}

const WORDS = [
  ...[
    'on',
    'Off',
    'y',
    'N',
    'Yes',
    'no',
    'true',
    'FALSE',
    'null',
    '~',
    '=',
    '<<',
    '',
    ' ',
    '-',
    '---',
    '...',
    '--- a',
    '? a',
  ],
  ...['0400', '0o17', '0X1F', '0B1', '1_000', '1:30', '1e3', '.5', '+.inf', '.NaN', '12e03', '+12', '2001-01-01'],
  ...['!x', '&a', '*a', 'a: b', 'a #b', '#', '%', '@', '`', '{}', '[]', '"', "'", '| x', '> x'],
  ...[
    '\u2028x',
    'a\u0085b',
    '\0',
    '\r\n',
    'x\ry',
    '  lead\nx',
    '\n\nx',
    'x\n \n',
    'x\n\n',
    'tab\there',
    '---\na',
    'a\n---\nb',
  ],
]

async function expectSame(value: unknown): Promise<void> {
  const text = writeYaml(value)
  expect(readYaml(text), text).toEqual(value)
  expect(parse(text), text).toEqual(value)
  expect(await byGo(text), text).toEqual(value)
}

describe('YAML that Pawl writes', () => {
  it('is read alike by readers of YAML 1.1 and 1.2: words, numbers and markers, as values and as keys', async () => {
    await expectSame({ enum: WORDS, ...Object.fromEntries(WORDS.map((word, index) => [word, index])) })
  })

  it('is read alike for random texts', { timeout: 120_000 }, async () => {
    const text = fc.oneof(
      fc.constantFrom(...WORDS),
      fc.string({ unit: 'binary' }),
      fc.string({ unit: fc.constantFrom('0', 'x', '_', ':', '.', 'e', '-', '\n', ' ', '#') }),
    )
    const value = fc.array(
      fc.dictionary(
        text.filter((key) => key !== '__proto__'),
        fc.oneof(text, fc.array(text)),
        { maxKeys: 5 },
      ),
      { maxLength: 10 },
    )
    await fc.assert(
      fc.asyncProperty(value, async (list) => {
        await expectSame({ list: list.map((one) => ({ ...one })) })
      }),
      { numRuns: 150, seed: 1 },
    )
  })

  it('keeps every digit of large integers, and writes no aliases', () => {
    const same = { a: 1 }
    expect(writeYaml({ big: 123456789012345678901n, one: same, two: same })).toBe(
      'big: 123456789012345678901\none:\n  a: 1\ntwo:\n  a: 1\n',
    )
  })
})
