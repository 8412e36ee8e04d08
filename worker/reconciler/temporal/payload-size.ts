// Compresses large payloads, and rejects activity results that are too large. Temporal rejects blobs over 2 MiB, and an activity that observes 5,000 objects returns 2.4 MB.
//
//   Z1. Only payloads near the limit are compressed. All others stay readable in Temporal's UI and for workers of a release without compression.
//   Z2. The encoding is the one of Temporal's Go SDK (`binary/zlib`), so codec servers made with that SDK can decode it.
//   Z3. Decompression is bounded: a few bytes may expand to gigabytes.

import { deflateSync, inflateSync } from 'node:zlib'
import type { Payload, PayloadCodec } from '@temporalio/common'
import proto from '@temporalio/proto'

import { finalFailure } from '../../../activities/kube/errors.ts'
import { writeJson } from '../../../workflows/kit/index.ts'

const ENCODING = 'binary/zlib'
// Payloads of at least this size are compressed. The threshold is below 2 MiB, because Temporal's limit applies to a whole response, which has more parts than one payload.
const LARGE_BYTES = 1.5 * 1024 * 1024
/** A payload that decompresses to more bytes is rejected (Z3). */
export const MAX_DECOMPRESSED_BYTES = 64 * 1024 * 1024
const { Payload: PayloadMessage } = proto.temporal.api.common.v1

export const compressionCodec: PayloadCodec = {
  encode: (payloads) => Promise.resolve(payloads.map(compress)),
  // Async, so that an error becomes a rejection.
  decode: async (payloads) => await Promise.resolve(payloads.map(decompress)),
}

/** The size of the data after compression. */
export function compressedBytes(data: string | Uint8Array): number {
  return deflateSync(data, FASTEST).length
}

// A low CPU time is more important than the smallest size.
const FASTEST = { level: 1 }

function compress(payload: Payload): Payload {
  if ((payload.data?.length ?? 0) < LARGE_BYTES) return payload
  return {
    metadata: { encoding: Buffer.from(ENCODING) },
    data: deflateSync(PayloadMessage.encode(payload).finish(), FASTEST),
  }
}

function decompress(payload: Payload): Payload {
  const encoding = Buffer.from(payload.metadata?.['encoding'] ?? []).toString()
  return encoding === ENCODING ? PayloadMessage.decode(inflate(payload.data ?? new Uint8Array())) : payload
}

/** @throws with the limit, and for damaged data. */
function inflate(data: Uint8Array): Buffer {
  try {
    return inflateSync(data, { maxOutputLength: MAX_DECOMPRESSED_BYTES })
  } catch (cause) {
    const isTooLarge = cause instanceof Error && 'code' in cause && cause.code === 'ERR_BUFFER_TOO_LARGE'
    if (!isTooLarge) throw cause
    const limit = `${MAX_DECOMPRESSED_BYTES / 1024 / 1024} MiB`
    throw new Error(`a compressed payload of ${data.length} bytes exceeds the limit of ${limit}`, { cause })
  }
}

// Without the check below, Temporal would retry the workflow task or activity for ever and report nothing. So results are measured before they are sent, in
// compressed bytes, and a result that is too large is a non-retryable failure that names the object.

/** Temporal's limit is 2 MiB (`limit.blobSize.error`), minus a reserve for encryption and metadata. */
export const MAX_RESULT_BYTES = 1_900_000

/** The size of metadata around compressed data. */
const ENVELOPE_BYTES = 1024

/**
 * Returns the result if it is small enough.
 *
 * @param args of the activity; the first one identifies the subject of the pass.
 * @throws `ResultTooLarge` (non-retryable) with activity, object and size.
 */
export function checkResultSize<Result>(activityType: string, args: readonly unknown[], result: Result): Result {
  if (result === undefined) return result
  // Bytes are sent unchanged, other values as JSON.
  const data = result instanceof Uint8Array ? result : writeJson(result)
  const bytes = typeof data === 'string' ? estimateBytes(data) : data.byteLength
  if (bytes <= MAX_RESULT_BYTES) return result
  const compressed = compressedBytes(data)
  const canDecompress = bytes <= MAX_DECOMPRESSED_BYTES - ENVELOPE_BYTES
  if (compressed <= MAX_RESULT_BYTES && canDecompress) return result
  const size = canDecompress ? `${Math.ceil(compressed / 1000)} kB, compressed` : `${Math.ceil(bytes / 1000)} kB`
  throw finalFailure(
    'ResultTooLarge',
    `${activityType} of ${subjectText(args[0])} returns ${size}; Temporal accepts at most ${MAX_RESULT_BYTES / 1000} kB; return fewer or smaller objects`,
  )
}

const MAX_BYTES_PER_CHARACTER = 3

/**
 * The size in UTF-8. For a text that cannot exceed `MAX_RESULT_BYTES`, the number of characters is returned instead: it is
 * cheaper than an exact count, and also below the limit.
 */
function estimateBytes(text: string): number {
  return text.length * MAX_BYTES_PER_CHARACTER <= MAX_RESULT_BYTES ? text.length : Buffer.byteLength(text)
}

/** The name of the subject in messages. */
function subjectText(input: unknown): string {
  const { subject, by } = (input ?? {}) as { readonly subject?: Named; readonly by?: { readonly workflowID?: string } }
  if (subject?.name === undefined) return by?.workflowID ?? 'an unknown object'
  const { kind = 'object', namespace = '', name } = subject
  return `${kind} ${namespace === '' ? '' : `${namespace}/`}${name}`
}

interface Named {
  readonly kind?: string
  readonly namespace?: string
  readonly name?: string
}
