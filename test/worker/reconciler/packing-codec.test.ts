import { deflateSync } from 'node:zlib'

import { defaultPayloadConverter, type Payload } from '@temporalio/common'
import { describe, expect, it } from 'vitest'

import { compressionCodec } from '../../../worker/reconciler/temporal/payload-size.ts'

const payloadOf = (value: unknown): Payload => defaultPayloadConverter.toPayload(value)
const views = Array.from({ length: 40_000 }, (_, index) => ({ name: `item-${index}`, phase: 'Succeeded', jobID: 'é€' }))

describe('a payload', () => {
  it('is packed when it is large, and comes back as it was', async () => {
    const large = payloadOf(views)
    const [packed] = await compressionCodec.encode([large])
    expect(packed?.data?.length).toBeLessThan((large.data?.length ?? 0) / 5)
    const [back] = await compressionCodec.decode([packed ?? {}])
    expect(defaultPayloadConverter.fromPayload(back ?? {})).toEqual(views)
  })

  it('stays as it is when it is small, also where it is opened', async () => {
    const small = payloadOf({ name: 'item' })
    expect(await compressionCodec.encode([small])).toEqual([small])
    expect(await compressionCodec.decode([small])).toEqual([small])
  })

  it('stays as it is while a worker that does not pack could have sent it', async () => {
    const middling = payloadOf(views.slice(0, 20_000))
    expect(middling.data?.length).toBeGreaterThan(1024 * 1024)
    expect(await compressionCodec.encode([middling])).toEqual([middling])
  })

  it('is not unpacked to more than there is room for', async () => {
    const metadata = { encoding: Buffer.from('binary/zlib') }
    const bomb = { metadata, data: deflateSync(Buffer.alloc(65 * 1024 * 1024)) }
    await expect(compressionCodec.decode([bomb])).rejects.toThrow(/of \d+ bytes has more than 64 MiB; expected less$/)
  })

  it('that is damaged is told', async () => {
    const [packed] = await compressionCodec.encode([payloadOf(views)])
    await expect(compressionCodec.decode([{ ...packed, data: Buffer.from('damaged') }])).rejects.toThrow()
  })
})
