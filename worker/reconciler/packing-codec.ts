// Large payloads are packed before they go to Temporal, which refuses one of over 2 MiB: what a pass looks at of 5,000 items has 2.4 MB.
//
//   Z1. Only what comes near that: all else stays readable in Temporal's UI, and by workers of a release that did not pack, which may run beside this one.
//   Z2. The encoding is that of Temporal's own SDK for Go (`binary/zlib`), so codec servers made with that open them.
//   Z3. What is unpacked is bounded: a few bytes may stand for very many.

import { deflateSync, inflateSync } from 'node:zlib'

import type { Payload, PayloadCodec } from '@temporalio/common'
import proto from '@temporalio/proto'

const ENCODING = 'binary/zlib'
// A release that did not pack could hardly send more: Temporal's limit is on the whole of an answer.
const LARGE_BYTES = 1.5 * 1024 * 1024
/** Z3 */
export const MOST_UNPACKED_BYTES = 64 * 1024 * 1024
const { Payload: PayloadMessage } = proto.temporal.api.common.v1

export const packingCodec: PayloadCodec = {
  encode: (payloads) => Promise.resolve(payloads.map(pack)),
  // Async, so that what cannot be unpacked is told as a rejection.
  decode: async (payloads) => await Promise.resolve(payloads.map(unpack)),
}

/** How many bytes a large payload with this takes in Temporal. */
export function packedBytes(data: string | Uint8Array): number {
  return deflateSync(data, FAST).length
}

// The time of the worker counts more than the last bytes.
const FAST = { level: 1 }

function pack(payload: Payload): Payload {
  if ((payload.data?.length ?? 0) < LARGE_BYTES) return payload
  return {
    metadata: { encoding: Buffer.from(ENCODING) },
    data: deflateSync(PayloadMessage.encode(payload).finish(), FAST),
  }
}

function unpack(payload: Payload): Payload {
  const encoding = Buffer.from(payload.metadata?.['encoding'] ?? []).toString()
  return encoding === ENCODING ? PayloadMessage.decode(inflated(payload.data ?? new Uint8Array())) : payload
}

/** @throws with the limit, and for what is damaged. */
function inflated(data: Uint8Array): Buffer {
  try {
    return inflateSync(data, { maxOutputLength: MOST_UNPACKED_BYTES })
  } catch (cause) {
    const isTooLarge = cause instanceof Error && 'code' in cause && cause.code === 'ERR_BUFFER_TOO_LARGE'
    if (!isTooLarge) throw cause
    const most = `${MOST_UNPACKED_BYTES / 1024 / 1024} MiB`
    throw new Error(`a packed payload of ${data.length} bytes has more than ${most}; expected less`, { cause })
  }
}
