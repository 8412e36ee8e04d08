// What an event says to programs, beside its words: bounded, for it is in the history of the run and in etcd.

import { byteLength, cutBytes } from './cut-bytes.ts'

/** Of all annotations of one event, names and values, in UTF-8. */
export const MOST_ANNOTATION_BYTES = 16_384
/** On an event whose annotations are larger: which are not there, and how large they are. */
export const LEFT_OUT_ANNOTATION = 'pawl.dev/left-out'

const MOST_NAMES_BYTES = 1024

/** Those that fit, in their order, each whole; what does not is named by one more. Undefined for none. */
export function fittingAnnotations(
  given: Readonly<Record<string, string>> | undefined,
): Readonly<Record<string, string>> | undefined {
  let left = MOST_ANNOTATION_BYTES
  const fitting: Record<string, string> = {}
  const leftOut: string[] = []
  for (const [name, value] of Object.entries(given ?? {})) {
    const bytes = byteLength(name) + byteLength(value)
    if (bytes > left) leftOut.push(`${name} (${byteLength(value)} bytes)`)
    else {
      fitting[name] = value
      left -= bytes
    }
  }
  if (leftOut.length > 0) fitting[LEFT_OUT_ANNOTATION] = cutBytes(leftOut.join(', '), MOST_NAMES_BYTES)
  return Object.keys(fitting).length === 0 ? undefined : fitting
}
