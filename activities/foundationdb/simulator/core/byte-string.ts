// Keys and values. They are strings in which each character is one byte (U+0000 to U+00FF), so that they compare in
// FoundationDB's order and need no conversion in JSON.

export const USER_END = '\xff'
export const SYSTEM_END = '\xff\xff'

/** The first key after `key`. */
export const keyAfter = (key: string): string => `${key}\0`

const HEX = (char: string) => `\\x${char.charCodeAt(0).toString(16).padStart(2, '0')}`

/** As fdbcli prints keys and values: bytes that are not printable ASCII as `\xNN`, a backslash doubled. */
export function printable(bytes: string): string {
  return bytes.replaceAll(/[^\x20-\x7e]|\\/g, (char) => (char === '\\' ? '\\\\' : HEX(char)))
}

/** As fdbcli prints the words of a command: as `printable`, with spaces as `\x20`. */
export function printableWord(bytes: string): string {
  return printable(bytes).replaceAll(' ', HEX)
}

/** The UTF-8 bytes of a text. */
export const toBytes = (text: string): string => Buffer.from(text, 'utf8').toString('latin1')

/** The text of UTF-8 bytes. */
export const toText = (bytes: string): string => Buffer.from(bytes, 'latin1').toString('utf8')
