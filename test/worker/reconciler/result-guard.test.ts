import { randomBytes } from 'node:crypto'

import { describe, expect, it } from 'vitest'

import { MAX_RESULT_BYTES, checkResultSize } from '../../../worker/reconciler/temporal/payload-size.ts'

const subject = { group: 'example.com', kind: 'Widget', namespace: 'shop', name: 'large', uid: 'u' }
const SAYS =
  / of (.*) answers with \d+ kB, compressed; Temporal has room for 1900 kB: expected fewer or smaller objects in it$/

/** What nothing packs; in base64, of whose bytes three quarters are left. */
const noise = (bytes: number) => randomBytes(bytes).toString('base64')

function refusal(input: unknown): unknown {
  try {
    return checkResultSize('observe', [input], noise(MAX_RESULT_BYTES * 1.1))
  } catch (error) {
    const { type, nonRetryable, message } = error as { type: string; nonRetryable: boolean; message: string }
    return [type, nonRetryable, SAYS.exec(message)?.[1]]
  }
}

describe('the result of an activity', () => {
  it('is sent when there is room for it, or it can be packed', () => {
    const most = noise(MAX_RESULT_BYTES * 0.7)
    expect(checkResultSize('observe', [{ subject }], most)).toBe(most)
    const packable = 'x'.repeat(MAX_RESULT_BYTES * 2)
    expect(checkResultSize('observe', [{ subject }], packable)).toBe(packable)
    const nothing: unknown = undefined
    expect(checkResultSize('observe', [], nothing)).toBe(nothing)
  })

  it.each([
    ['Widget shop/large', { subject }],
    ['Node n', { subject: { kind: 'Node', namespace: '', name: 'n' } }],
    ['widget/shop/large/u', { by: { workflowID: 'widget/shop/large/u' } }],
    ['an object that its input does not name', undefined],
  ])('is not sent when it is too large: %s is named', (name, input) => {
    expect(refusal(input)).toEqual(['ResultTooLarge', true, name])
  })

  it('is measured as it is sent when it is binary', () => {
    const sent = randomBytes(MAX_RESULT_BYTES)
    expect(checkResultSize('observe', [], sent)).toBe(sent)
    const more = randomBytes(MAX_RESULT_BYTES + 1)
    expect(() => checkResultSize('observe', [{ subject }], more)).toThrow(SAYS)
  })

  it('is not sent when nobody would unpack it', () => {
    const vast = 'x'.repeat(64 * 1024 * 1024)
    expect(() => checkResultSize('observe', [{ subject }], vast)).toThrow(/Widget shop\/large answers with 67109 kB; /)
  })

  it('is measured in bytes, of which a character may have several', () => {
    const other = Array.from(randomBytes(1_800_000), (byte, index) =>
      String.fromCodePoint(0x1000 + byte * 97 + (index % 89)),
    ).join('')
    expect(other.length).toBeLessThan(MAX_RESULT_BYTES)
    expect(() => checkResultSize('observe', [{ subject }], other)).toThrow(/^observe of Widget shop\/large/)
  })
})
