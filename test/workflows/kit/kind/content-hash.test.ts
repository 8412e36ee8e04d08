import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'

import { contentHash, sha256 } from '../../../../workflows/kit/index.ts'

describe('the hash of content', () => {
  it('equals the test vectors of SHA-256', () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 300 }), (text) => {
        expect(sha256(text)).toBe(createHash('sha256').update(text, 'utf8').digest('hex'))
      }),
    )
  })

  it('is computed over UTF-8', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), (text) => {
        const expected = createHash('sha256').update(JSON.stringify(text), 'utf8').digest('hex')
        expect(contentHash(text)).toBe(expected.slice(0, 16))
      }),
    )
  })

  it('ignores the order of keys and undefined fields', () => {
    const one = contentHash({ data: { a: '1', b: '2' }, labels: undefined, list: [{ x: 1, y: 2 }] })
    expect(contentHash({ list: [{ y: 2, x: 1 }], data: { b: '2', a: '1' } })).toBe(one)
    expect(contentHash({ list: [{ y: 2, x: 2 }], data: { b: '2', a: '1' } })).not.toBe(one)
  })

  it('fits into names and labels, and is stable over versions', () => {
    expect(contentHash({ key: 'Wert ✓' })).toBe(
      createHash('sha256').update('{"key":"Wert ✓"}').digest('hex').slice(0, 16),
    )
    expect([undefined, null, '', {}].map((value) => contentHash(value))).toHaveLength(
      new Set([undefined, null, '', {}].map((value) => contentHash(value))).size,
    )
  })
})
