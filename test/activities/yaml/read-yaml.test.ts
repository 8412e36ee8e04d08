// Tests the YAML reader that all modules use. test/activities/landscaper/render/yaml.test.ts compares its values with
// the values of Go's parser.

import { describe, expect, it } from 'vitest'
import { hasFurtherDocuments } from '../../../activities/yaml/further-documents.ts'
import { FILE_LIMITS, parseYaml, parseYamlDocuments, readYaml, YamlError } from '../../../activities/yaml/read-yaml.ts'

describe('a text with aliases', () => {
  const many = (count: number) => Array.from({ length: count }, (_, n) => `k${n}: *a`).join('\n')

  it('is read with thousands of aliases', () => {
    const value = readYaml(`a: &a {x: 1}\n${many(20_000)}`) as Record<string, unknown>
    expect(value['k19999']).toEqual({ x: 1 })
    expect(Object.keys(value)).toHaveLength(20_001)
  })

  it('is refused when it expands to too many values or characters', () => {
    const values = `a: &a [${'1, '.repeat(300)}]\n${many(1000)}`
    expect(() => readYaml(values)).toThrow('found aliases that expand to more than 250000 values')
    const characters = `a: &a ${'x'.repeat(100_000)}\n${many(100)}`
    expect(() => readYaml(characters)).toThrow('8388608 characters')
    expect(readYaml(values, { limits: FILE_LIMITS })).toHaveProperty('k999')
  })

  it('uses the last anchor of a name before the alias', () => {
    expect(readYaml('a: &x 1\nb: *x\nc: &x 2\nd: *x')).toEqual({ a: 1, b: 1, c: 2, d: 2 })
  })

  it('merges maps, and tells the line of a value that an alias names', () => {
    const read = parseYaml('base: &b\n  a: 1\nnext:\n  <<: *b\n  c: yes\nagain: *b')
    expect(read.value).toEqual({ base: { a: 1 }, next: { a: 1, c: true }, again: { a: 1 } })
    expect(read.placeOf(['next', 'c'])).toEqual({ line: 5, column: 6 })
    expect(read.lineOf(['again', 'a'])).toBe(2)
  })
})

describe('several documents', () => {
  it('are read one by one, each with its own error', () => {
    const [first, second, third, ...more] = parseYamlDocuments('mode: 0400\n---\na: [\n---\nb: no\n')
    expect(first).toHaveProperty('value', { mode: 256 })
    expect(second).toBeInstanceOf(YamlError)
    expect(second).toHaveProperty('line', 4)
    expect(third).toHaveProperty('value', { b: false })
    expect(more).toEqual([])
    expect(parseYamlDocuments('# nothing\n')).toEqual([])
  })

  it.each([
    ['a: 1', false],
    ['---\na: 1\n', false],
    ['# comment\n%YAML 1.1\n---\na: 1\n...\n', false],
    ['a: 1\n---\n# only a comment\n', false],
    ['a: |\n  ---\n  b\nc: "x --- y"', false],
    ['a: 1\n---\nb: 2', true],
    ['--- a\n--- b', true],
    ['a: 1\n...\nb: 2', true],
    ['---\n---\na: 1', true],
    ['{"a": 1}\r\n---\r\n{"b": 2}', true],
  ])('are noticed: %j', (text, expected) => {
    expect(hasFurtherDocuments(text)).toBe(expected)
    const [, ...further] = parseYamlDocuments(text)
    expect(further.some((one) => one instanceof YamlError || (one.value ?? null) !== null)).toBe(expected)
  })
})
