// Cuts texts, Event annotations and search attributes to the byte limits of Temporal and etcd. The workflow sandbox and the worker use the same
// functions.

/** The text's length in UTF-8 bytes. */
export function byteLength(text: string): number {
  let bytes = 0
  for (const character of text) bytes += bytesOf(character)
  return bytes
}

/** The longest prefix of the text with at most this number of UTF-8 bytes. */
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

/** The limit for all annotations of an Event, keys and values, in UTF-8 bytes. */
export const MOST_ANNOTATION_BYTES = 16_384
/** Annotation that names the omitted annotations and their sizes. */
export const LEFT_OUT_ANNOTATION = 'pawl.dev/left-out'

const MOST_NAMES_BYTES = 1024

/** Returns the annotations that fit, in order and never cut, plus `LEFT_OUT_ANNOTATION` for the others. Undefined without annotations. */
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

// Temporal limits a search attribute to 2 KiB by default. Kubernetes names are ASCII.
const MOST_BYTES = 2000

/** Returns the first names that fit into a search attribute, without duplicates. */
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
