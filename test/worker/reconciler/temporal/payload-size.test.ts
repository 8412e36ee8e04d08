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
    await expect(compressionCodec.decode([bomb])).rejects.toThrow(/of \d+ bytes exceeds the limit of 64 MiB/)
  })

  it('rejects damaged data', async () => {
    const [packed] = await compressionCodec.encode([payloadOf(views)])
    await expect(compressionCodec.decode([{ ...packed, data: Buffer.from('damaged') }])).rejects.toThrow()
  })
})

/** Incompressible text: in base64, three quarters of the bytes remain. */
const noise = (bytes: number) => randomBytes(bytes).toString('base64')
const large = noise(MAX_RESULT_BYTES * 1.1)
const subject = { group: 'example.com', kind: 'Widget', namespace: 'shop', name: 'large', uid: 'u' }

describe('the result of an activity', () => {
  it.each([
    ['is small', noise(MAX_RESULT_BYTES * 0.7)],
    ['is small after compression', 'x'.repeat(MAX_RESULT_BYTES * 2)],
    ['is binary, which is measured in bytes', randomBytes(MAX_RESULT_BYTES)],
    ['is missing', undefined],
  ])('is sent if it %s', (_, result) => {
    expect(checkResultSize('observe', [{ subject }], result)).toBe(result)
  })

  /** Text with more bytes than characters. */
  const wide = Array.from(randomBytes(1_800_000), (byte, index) =>
    String.fromCodePoint(0x1000 + byte * 97 + (index % 89)),
  ).join('')
  it.each<[string, unknown, unknown, string?]>([
    ['Widget shop/large', { subject }, large],
    ['Node n', { subject: { kind: 'Node', namespace: '', name: 'n' } }, large],
    ['widget/shop/large/u', { by: { workflowID: 'widget/shop/large/u' } }, large],
    ['an unknown object', undefined, large],
    ['Widget shop/large', { subject }, randomBytes(MAX_RESULT_BYTES + 1)],
    ['Widget shop/large', { subject }, wide],
    // The receiver would not decompress it.
    ['Widget shop/large', { subject }, 'x'.repeat(64 * 1024 * 1024), '67109 kB'],
  ])(
    'is rejected with the name of its subject if it is too large: %s (%#)',
    (name, input, result, size = '\\d+ kB, compressed') => {
      const says = `^observe of ${name} returns ${size}; Temporal accepts at most 1900 kB; return fewer or smaller objects$`
      expect(() => checkResultSize('observe', [input], result)).toThrow(
        expect.objectContaining({
          type: 'ResultTooLarge',
          nonRetryable: true,
          message: expect.stringMatching(says) as string,
        }),
      )
    },
  )
})
