import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'

import { contentHash } from '../../../../workflows/kit/index.ts'
import { sha256 } from '../../../../workflows/kit/kind/content-hash.ts'

describe('the hash of content', () => {
  it('is that of the standard', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => {
        expect(sha256([...bytes])).toBe(createHash('sha256').update(bytes).digest('hex'))
      }),
    )
  })

  it('is that of the text in UTF-8', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), (text) => {
        const expected = createHash('sha256').update(JSON.stringify(text), 'utf8').digest('hex')
        expect(contentHash(text)).toBe(expected.slice(0, 16))
      }),
    )
  })

  it('does not see the order of keys, nor what is undefined', () => {
    const one = contentHash({ data: { a: '1', b: '2' }, labels: undefined, list: [{ x: 1, y: 2 }] })
    expect(contentHash({ list: [{ y: 2, x: 1 }], data: { b: '2', a: '1' } })).toBe(one)
    expect(contentHash({ list: [{ y: 2, x: 2 }], data: { b: '2', a: '1' } })).not.toBe(one)
  })

  it('is a text that fits into names and labels, the same in every version', () => {
    expect(contentHash({ key: 'Wert ✓' })).toBe(
      createHash('sha256').update('{"key":"Wert ✓"}').digest('hex').slice(0, 16),
    )
    expect([undefined, null, '', {}].map((value) => contentHash(value))).toHaveLength(
      new Set([undefined, null, '', {}].map((value) => contentHash(value))).size,
    )
  })
})
