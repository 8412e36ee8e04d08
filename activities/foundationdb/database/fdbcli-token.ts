// The encoding of words in fdbcli commands, and of keys and values in its output. Source: fdbcli's `help escaping`.
//
//   T1. Any bytes encode to one word: no space, `;`, quotation mark or backslash remains, so no word becomes two words or two commands.
//   T2. `decodePrinted(text)` returns the bytes of a printed key or value.

const PLAIN = /^[A-Za-z0-9_./:=,@+[\]-]$/

/** T1. @param word bytes, or text in UTF-8. */
export function encodeWord(word: Uint8Array | string): string {
  const bytes = typeof word === 'string' ? new TextEncoder().encode(word) : word
  return [...bytes].map(encodeByte).join('')
}

function encodeByte(byte: number): string {
  const character = String.fromCharCode(byte)
  return PLAIN.test(character) ? character : `\\x${byte.toString(16).padStart(2, '0')}`
}

/** T2. */
export function decodePrinted(text: string): Uint8Array {
  const parts = text.matchAll(/\\x([0-9a-f]{2})|\\\\|([^\\])/g)
  return Uint8Array.from(
    [...parts].map(([whole, hex]) => (hex === undefined ? whole.charCodeAt(0) : parseInt(hex, 16))),
  )
}
