// Temporal's limits count bytes. The sandbox and the worker cut alike.
// MERGED What an event says to programs, beside its words: bounded, for it is in the history of the run and in etcd.
// MERGED What people find a run by in Temporal beside its subject: the names and uids of what it hosts, as many as Temporal takes. The journal finds the rest
// (docs/operating.md).

/** How many bytes the text has in UTF-8. */
export function byteLength(text: string): number {
  let bytes = 0
  for (const character of text) bytes += bytesOf(character)
  return bytes
}

/** The longest beginning of the text that has at most so many bytes in UTF-8. */
export function cutBytes(text: string, most: number): string {
  let left = most
  let end = 0
  for (const character of text) {
    left -= bytesOf(character)
    if (left < 0) break
    end += character.length
  }
  return text.slice(0, end)
}

function bytesOf(character: string): number {
  const point = character.codePointAt(0) ?? 0
  if (point < 0x80) return 1
  if (point < 0x800) return 2
  return point < 0x10000 ? 3 : 4
}

/** Of all annotations of one event, names and values, in UTF-8. */
export const MOST_ANNOTATION_BYTES = 16_384
/** On an event whose annotations are larger: which are not there, and how large they are. */
export const LEFT_OUT_ANNOTATION = 'pawl.dev/left-out'

const MOST_NAMES_BYTES = 1024

/** Those that fit, in their order, each whole; what does not is named by one more. Undefined for none. */
export function fitAnnotations(
  given: Readonly<Record<string, string>> | undefined,
): Readonly<Record<string, string>> | undefined {
  let left = MOST_ANNOTATION_BYTES
  const fitNames: Record<string, string> = {}
  const leftOut: string[] = []
  for (const [name, value] of Object.entries(given ?? {})) {
    const bytes = byteLength(name) + byteLength(value)
    if (bytes > left) leftOut.push(`${name} (${byteLength(value)} bytes)`)
    else {
      fitNames[name] = value
      left -= bytes
    }
  }
  if (leftOut.length > 0) fitNames[LEFT_OUT_ANNOTATION] = cutBytes(leftOut.join(', '), MOST_NAMES_BYTES)
  return Object.keys(fitNames).length === 0 ? undefined : fitNames
}

// Temporal's limit of an attribute is 2 KiB by default. Names of Kubernetes are ASCII.
const MOST_BYTES = 2000

/** As many of the names as fit, the first first; each once. */
export function fitting(names: readonly string[]): string[] {
  const fit: string[] = []
  let bytes = '[]'.length
  for (const name of new Set(names)) {
    bytes += `"${name}",`.length
    if (bytes > MOST_BYTES) return fit
    fit.push(name)
  }
  return fit
}
