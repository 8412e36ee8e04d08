import fc from 'fast-check'
import { describe, expect, it } from 'vitest'

import { packTuple, type TupleElement, unpackTuple } from '../../../../workflows/foundationdb/database/tuple.ts'

const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex')

describe('the tuple layer', () => {
  // Source of the first vector: spec/foundationdb.md 3.1. The others: the specification of the tuple layer.
  it.each<[readonly TupleElement[], string]>([
    [['dc1', 1600000000, 1600000600], '026463310018' + '5f5e1000' + '18' + '5f5e1258'],
    [[], ''],
    [[''], '0200'],
    [['a\0b'], '026100ff6200'],
    [['é✓😀'], '02c3a9e29c93f09f988000'],
    [[0, 1, 255, 256], '14' + '1501' + '15ff' + '160100'],
    [[-1, -255, -256], '13fe' + '1300' + '12feff'],
    [[2n ** 63n - 1n, -(2n ** 63n)], '1c7fffffffffffffff' + '0c7fffffffffffffff'],
  ])('packs tuple %#', (elements, expected) => {
    expect(hex(packTuple(elements))).toBe(expected)
    expect(unpackTuple(Buffer.from(expected, 'hex'))).toEqual(elements)
  })

  it('returns every tuple unchanged, and orders bytes as the numbers', () => {
    const element = fc.oneof(fc.string({ unit: 'grapheme' }), fc.maxSafeInteger())
    fc.assert(
      fc.property(fc.array(element), (elements) => {
        expect(unpackTuple(packTuple(elements))).toEqual(elements.map((one) => (one === 0 ? 0 : one)))
      }),
    )
    fc.assert(
      fc.property(fc.maxSafeInteger(), fc.maxSafeInteger(), (one, other) => {
        expect(Math.sign(Buffer.compare(packTuple([one]), packTuple([other])))).toBe(Math.sign(one - other))
      }),
    )
  })

  it.each([
    ['02646331', 'tuple: the text at byte 1 has no end'],
    ['1800', 'tuple: the number at byte 0 is cut'],
    ['02ff00', 'tuple: the text at byte 1 is not UTF-8'],
    ['14ff', 'tuple: found the type 255 at byte 1; expected a text or a number'],
  ])('rejects the bytes %s', (bytes, message) => {
    expect(() => unpackTuple(Buffer.from(bytes, 'hex'))).toThrow(message)
  })

  it('rejects numbers of more than 64 bits', () => {
    expect(() => packTuple([2n ** 64n])).toThrow('expected one of at most 64 bits')
  })
})
