import fc from 'fast-check'
import { describe, expect, it } from 'vitest'

import { canonicalJson, NumberRangeError, readJson, writeJson } from '../../../../workflows/kit/index.ts'

const integers = fc.bigInt({ min: -(10n ** 40n), max: 10n ** 40n })
const smallIntegers = fc.integer().map(BigInt)
const floats = fc.double({ noNaN: true, noDefaultInfinity: true })
/** JSON text whose numbers are integers of any size, and floats as JavaScript writes them. */
const texts = fc.letrec<{ value: string }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    integers.map(String),
    smallIntegers.map(String),
    floats.map((one) => JSON.stringify(one)),
    fc.string().map((one) => JSON.stringify(one)),
    fc
      .constantFrom(', 9007199254740993]', '"[1e400', String.raw`\", 9007199254740993`)
      .map((one) => JSON.stringify(one)),
    fc.array(tie('value'), { maxLength: 4 }).map((all) => `[${all.join(',')}]`),
    fc
      .uniqueArray(fc.tuple(fc.constantFrom('a', 'b', 'c', 'd'), tie('value')), { selector: ([key]) => key })
      .map((all) => `{${all.map(([key, value]) => `"${key}":${value}`).join(',')}}`),
  ),
})).value

describe('JSON of user data', () => {
  it('keeps every digit of every number when it is read and written', () => {
    fc.assert(
      fc.property(texts, (text) => {
        expect(writeJson(readJson(text))).toBe(text)
      }),
    )
  })

  it('survives the copy to another thread and stays equal', () => {
    fc.assert(
      fc.property(texts, (text) => {
        expect(structuredClone(readJson(text))).toEqual(readJson(text))
      }),
    )
  })

  it('is read as JSON.parse reads it when its integers are safe', () => {
    const safe = fc.jsonValue({ noUnicodeString: false }).map((value) => JSON.stringify(value))
    fc.assert(
      fc.property(safe, (text) => {
        expect(readJson(text)).toEqual(JSON.parse(text))
      }),
    )
  })

  it.each([
    ['9007199254740991', 9007199254740991],
    ['9007199254740992', 9007199254740992],
    ['9007199254740993', 9007199254740993n],
    ['-9223372036854775808', -9223372036854775808n],
    ['18446744073709551615', 18446744073709551615n],
    ['12345678901234567.5', 12345678901234567.5],
    ['1e17', 1e17],
    ['1.0', 1],
  ])('reads %s as the number with the same value', (text, value) => {
    expect(readJson(text)).toBe(value)
  })

  it.each([
    ['{"__proto__":9007199254740993}', { ['__proto__']: 9007199254740993n }],
    ['{"a":9007199254740993,"a":1}', { a: 1 }],
    [
      '[1.7976931348623157e308,-1.7976931348623157e308,1e-400,9007199254740993]',
      [2 ** 1023 * (2 - 2 ** -52), -(2 ** 1023 * (2 - 2 ** -52)), 0, 9007199254740993n],
    ],
    ['\n9007199254740993\t', 9007199254740993n],
  ])('reads the document %s whole', (text, value) => {
    expect(readJson(text)).toEqual(value)
  })

  it.each([
    '[9007199254740993.5.5]',
    '[09007199254740993]',
    '[9007199254740993',
    '{"a":9007199254740993,}',
    '+9007199254740993',
  ])('refuses %s, which is no JSON', (text) => {
    expect(() => readJson(text)).toThrow(SyntaxError)
  })

  it('is read at any depth', () => {
    const levels = 100_000
    expect(readJson(`[9007199254740993,${'['.repeat(levels)}${']'.repeat(levels)}]`)).toHaveLength(2)
  })

  it('rejects a number outside of the range of doubles, with the path of its field', () => {
    const read = () => readJson('{"spec":{"limits":[1,{"most":1e400}]}}')
    expect(read).toThrow(NumberRangeError)
    expect(read).toThrow('field "spec.limits[1].most": the number is too large')
  })

  it('makes JSON.stringify fail in code that would lose digits', () => {
    expect(() => JSON.stringify(readJson('[9007199254740993]'))).toThrow(TypeError)
  })

  it('has the same canonical text as JSON.stringify unless an integer would lose a digit', () => {
    expect(canonicalJson(readJson('{"b":1.0,"a":9007199254740993}'))).toBe('{"a":9007199254740993,"b":1}')
  })
})
