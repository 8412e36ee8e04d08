// Compiles random texts: no exception, an end in time, and diagnostics with positions inside of the text.

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'

import { compile, formatDiagnostic } from '../../../../workflows/kit/dsl/index.ts'
import { FULL_DOCUMENT, MODES_DOCUMENT, OPTIONS, RFC_DOCUMENT } from './documents.ts'
import { expectCpuBelow } from '../../../support/costs/cpu-limit.ts'
import { ANY_UNIT } from '../../../support/fuzz/any-unit.ts'

const FRAGMENTS = [
  '{',
  '}',
  '(',
  ')',
  '[]',
  ',',
  '=',
  '"',
  '${',
  '$',
  '//',
  '\n',
  '\r\n',
  '\t',
  ' ',
  'decl',
  'as',
  'as job',
  'job',
  'state {',
  'action {',
  'bind v1 ./a.ts',
  'owned',
  'name=',
  '\\',
  '\u0000',
  '\u2028',
  '\ud800',
  '__proto__',
  'constructor',
  'target',
]

const place = fc.double({ min: 0, max: 1, noNaN: true })
const edit = fc.oneof(
  fc.tuple(fc.constant('insert' as const), place, fc.constantFrom(...FRAGMENTS)),
  fc.tuple(fc.constant('insert' as const), place, fc.string({ unit: ANY_UNIT, maxLength: 5 })),
  fc.tuple(fc.constant('delete' as const), place, fc.constant('')),
  fc.tuple(fc.constant('cut' as const), place, fc.constant('')),
)
const mutated = fc
  .tuple(fc.constantFrom(RFC_DOCUMENT, FULL_DOCUMENT, MODES_DOCUMENT), fc.array(edit, { minLength: 1, maxLength: 6 }))
  .map(([text, edits]) => edits.reduce(applied, text))

function applied(
  text: string,
  [what, where, inserted]: readonly ['insert' | 'delete' | 'cut', number, string],
): string {
  const offset = Math.floor(where * text.length)
  if (what === 'cut') return text.slice(0, offset)
  const until = what === 'delete' ? offset + 1 + (offset % 7) : offset
  return text.slice(0, offset) + inserted + text.slice(until)
}

const bytes = fc.uint8Array({ maxLength: 400 }).map((found) => new TextDecoder().decode(found))
const fragments = fc.array(fc.constantFrom(...FRAGMENTS), { maxLength: 60 }).map((found) => found.join(' '))

function expectSound(text: string): void {
  const { diagnostics, code } = compile(text, OPTIONS)
  const lines = text.split(/\r\n|\n|\r/)
  for (const found of diagnostics) {
    const { at } = found
    expect(at.offset).toBeGreaterThanOrEqual(0)
    expect(at.offset + at.length).toBeLessThanOrEqual(text.length)
    expect(at.column).toBeGreaterThanOrEqual(1)
    expect(at.column).toBeLessThanOrEqual((lines[at.line - 1] ?? '').length + 1)
    expect(text.slice(0, at.offset).split(/\r\n|\n|\r/)).toHaveLength(at.line)
    expect(formatDiagnostic('x.cm', text, found).split('\n')).toHaveLength(3)
  }
  expect(code === undefined).toBe(diagnostics.some(({ severity }) => severity === 'error'))
}

describe('random text', () => {
  it('gets diagnostics when it is a mutated document', () => {
    fc.assert(fc.property(mutated, expectSound), { numRuns: 2000 })
  })

  it('gets diagnostics when it consists of parts of documents', () => {
    fc.assert(fc.property(fragments, expectSound), { numRuns: 1000 })
  })

  it('gets diagnostics when it consists of random bytes', () => {
    fc.assert(fc.property(bytes, expectSound), { numRuns: 1000 })
  })

  it.each([
    ['lines without end', `bind v1 ./${'x'.repeat(200_000)}`],
    ['braces', '{'.repeat(50_000)],
    ['declarations in declarations', 'decl X for Y {\n'.repeat(5_000)],
    ['sections in sections', `decl X for Y {\n${'state {\n'.repeat(20_000)}`],
    ['words', 'a '.repeat(50_000)],
    ['states', `decl X for Y {\nstate {\n${'a B {\n'.repeat(10_000)}`],
    ['quotes', 'x="'.repeat(20_000)],
    ['references', `x=${'${target.'.repeat(20_000)}`],
    [
      'unknown states',
      `decl X for Y {\naction {\n${Array.from({ length: 2_000 }, (_, index) => `A${index}(b${index})\n`).join('')}}}`,
    ],
  ])('ends soon for many %s', (_, text) => {
    expectCpuBelow(5000, () => compile(text, OPTIONS))
  })
})
