// What an activity returns goes to Temporal, which refuses what is over 2 MiB: a workflow task, or the activity, would be tried again for ever and say nothing. So results are
// measured before they are sent, in bytes and packed as they travel, and one that is too large is a final failure that names the object.

import { writeJson } from '../../workflows/kit/index.ts'
import { finalFailure } from '../../activities/kube/errors.ts'
import { MOST_UNPACKED_BYTES, packedBytes } from './packing-codec.ts'

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
