// Large payloads are packed before they go to Temporal, which refuses one of over 2 MiB: what a pass looks at of 5,000 items has 2.4 MB.
//
//   Z1. Only what comes near that: all else stays readable in Temporal's UI, and by workers of a release that did not pack, which may run beside this one.
//   Z2. The encoding is that of Temporal's own SDK for Go (`binary/zlib`), so codec servers made with that open them.
//   Z3. What is unpacked is bounded: a few bytes may stand for very many.

import { deflateSync, inflateSync } from 'node:zlib'
import type { Payload, PayloadCodec } from '@temporalio/common'
import proto from '@temporalio/proto'

import { finalFailure } from '../../../activities/kube/errors.ts'
import { writeJson } from '../../../workflows/kit/index.ts'

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

// What an activity returns goes to Temporal, which refuses what is over 2 MiB: a workflow task, or the activity, would be tried again for ever and say nothing. So results are
// measured before they are sent, in bytes and packed as they travel, and one that is too large is a final failure that names the object.

/** Temporal's limit is 2 MiB (`limit.blobSize.error`); a payload that is sealed, and what stands around it, take some more. */
export const MOST_RESULT_BYTES = 1_900_000

/** What stands around data that are packed. */
const ENVELOPE_BYTES = 1024

/**
 * The result, when it is not too large.
 *
 * @param args of the activity; the first says whose pass it is.
 * @throws `ResultTooLarge` (final) with activity, object and size.
 */
export function sizedResult<Result>(activityType: string, args: readonly unknown[], result: Result): Result {
  // Bytes are sent as they are, all else as JSON.
  const data = result instanceof Uint8Array ? result : result === undefined ? '' : writeJson(result)
  const bytes = typeof data === 'string' ? bytesOf(data) : data.byteLength
  if (bytes <= MOST_RESULT_BYTES) return result
  const packed = packedBytes(data)
  const isOpened = bytes <= MOST_UNPACKED_BYTES - ENVELOPE_BYTES
  if (packed <= MOST_RESULT_BYTES && isOpened) return result
  const size = isOpened ? `${Math.ceil(packed / 1000)} kB, packed` : `${Math.ceil(bytes / 1000)} kB`
  throw finalFailure(
    'ResultTooLarge',
    `${activityType} of ${placeIn(args[0])} answers with ${size}; Temporal has room for ${MOST_RESULT_BYTES / 1000} kB: expected fewer or smaller objects in it`,
  )
}

// A character is at most three bytes, so most results need not be looked through.
const MOST_BYTES_OF_A_CHARACTER = 3

function bytesOf(text: string): number {
  return text.length * MOST_BYTES_OF_A_CHARACTER <= MOST_RESULT_BYTES ? text.length : Buffer.byteLength(text)
}

function placeIn(input: unknown): string {
  const { subject, by } = (input ?? {}) as { readonly subject?: Named; readonly by?: { readonly workflowID?: string } }
  if (subject?.name === undefined) return by?.workflowID ?? 'an object that its input does not name'
  const { kind = 'object', namespace = '', name } = subject
  return `${kind} ${namespace === '' ? '' : `${namespace}/`}${name}`
}

interface Named {
  readonly kind?: string
  readonly namespace?: string
  readonly name?: string
}
