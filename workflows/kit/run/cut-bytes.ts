// Temporal's limits count bytes. The sandbox and the worker cut alike.

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
