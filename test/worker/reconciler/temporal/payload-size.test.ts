import { randomBytes } from 'node:crypto'
import { deflateSync } from 'node:zlib'
import { defaultPayloadConverter, type Payload } from '@temporalio/common'
import { describe, expect, it } from 'vitest'

import {
  checkResultSize,
  compressionCodec,
  MAX_RESULT_BYTES,
} from '../../../../worker/reconciler/temporal/payload-size.ts'

const payloadOf = (value: unknown): Payload => defaultPayloadConverter.toPayload(value)
const views = Array.from({ length: 40_000 }, (_, index) => ({ name: `item-${index}`, phase: 'Succeeded', jobID: 'é€' }))

describe('the compression of a payload', () => {
  it('is lossless for a large payload', async () => {
    const large = payloadOf(views)
    const [packed] = await compressionCodec.encode([large])
    expect(packed?.data?.length).toBeLessThan((large.data?.length ?? 0) / 5)
    const [back] = await compressionCodec.decode([packed ?? {}])
    expect(defaultPayloadConverter.fromPayload(back ?? {})).toEqual(views)
  })

  it('leaves a small payload unchanged in both directions', async () => {
    const small = payloadOf({ name: 'item' })
    expect(await compressionCodec.encode([small])).toEqual([small])
    expect(await compressionCodec.decode([small])).toEqual([small])
  })

  it('leaves a payload unchanged that Temporal accepts without compression', async () => {
    const middling = payloadOf(views.slice(0, 20_000))
    expect(middling.data?.length).toBeGreaterThan(1024 * 1024)
    expect(await compressionCodec.encode([middling])).toEqual([middling])
  })

  it('rejects data that expand beyond the limit', async () => {
    const metadata = { encoding: Buffer.from('binary/zlib') }
    const bomb = { metadata, data: deflateSync(Buffer.alloc(65 * 1024 * 1024)) }
    await expect(compressionCodec.decode([bomb])).rejects.toThrow(/of \d+ bytes has more than 64 MiB; expected less$/)
  })

  it('rejects damaged data', async () => {
    const [packed] = await compressionCodec.encode([payloadOf(views)])
    await expect(compressionCodec.decode([{ ...packed, data: Buffer.from('damaged') }])).rejects.toThrow()
  })
})

const subject = { group: 'example.com', kind: 'Widget', namespace: 'shop', name: 'large', uid: 'u' }
const SAYS =
  / of (.*) answers with \d+ kB, compressed; Temporal has room for 1900 kB: expected fewer or smaller objects in it$/

/** Incompressible text: in base64, three quarters of the bytes remain. */
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
  it('is sent if it is small, or small after compression', () => {
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
  ])('is rejected with the name of its subject if it is too large: %s', (name, input) => {
    expect(refusal(input)).toEqual(['ResultTooLarge', true, name])
  })

  it('is measured in bytes if it is binary', () => {
    const sent = randomBytes(MAX_RESULT_BYTES)
    expect(checkResultSize('observe', [], sent)).toBe(sent)
    const more = randomBytes(MAX_RESULT_BYTES + 1)
    expect(() => checkResultSize('observe', [{ subject }], more)).toThrow(SAYS)
  })

  it('is rejected if the receiver would not decompress it', () => {
    const vast = 'x'.repeat(64 * 1024 * 1024)
    expect(() => checkResultSize('observe', [{ subject }], vast)).toThrow(/Widget shop\/large answers with 67109 kB; /)
  })

  it('is measured in bytes, not in characters', () => {
    const other = Array.from(randomBytes(1_800_000), (byte, index) =>
      String.fromCodePoint(0x1000 + byte * 97 + (index % 89)),
    ).join('')
    expect(other.length).toBeLessThan(MAX_RESULT_BYTES)
    expect(() => checkResultSize('observe', [{ subject }], other)).toThrow(/^observe of Widget shop\/large/)
  })
})
