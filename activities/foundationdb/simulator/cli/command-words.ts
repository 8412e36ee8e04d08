// Splits a line of fdbcli into commands and words. Source: fdb-recordings 05/020 (help escaping), 05/026..041.

export interface ParsedLine {
  /** Commands without empty ones. Words are byte strings. */
  readonly commands: readonly (readonly string[])[]
  /** Set if the line ends in the middle of something; the last command is then incomplete. */
  readonly error?: 'unterminated quote' | 'malformed escape sequence' | 'incomplete escape sequence'
}

interface Reader {
  readonly commands: string[][]
  words: string[]
  word: string | undefined
  quoted: boolean
}

/** `line` is a byte string. */
export function parseLine(line: string): ParsedLine {
  const reader: Reader = { commands: [], words: [], word: undefined, quoted: false }
  for (let position = 0; position < line.length; position++) {
    const char = line.charAt(position)
    if (char === '\\') {
      const escape = readEscape(line.slice(position + 1))
      if (escape === undefined) return finish(reader, 'malformed escape sequence')
      reader.word = (reader.word ?? '') + escape.byte
      position += escape.length
    } else readPlain(reader, char)
  }
  return finish(reader, reader.quoted ? 'unterminated quote' : undefined)
}

function readPlain(reader: Reader, char: string): void {
  if (char === '"') {
    reader.quoted = !reader.quoted
    reader.word ??= ''
  } else if (!reader.quoted && /\s/.test(char)) endWord(reader)
  else if (!reader.quoted && char === ';') endCommand(reader)
  else reader.word = (reader.word ?? '') + char
}

function readEscape(rest: string): { readonly byte: string; readonly length: number } | undefined {
  const hex = /^x([0-9a-fA-F]{2})/.exec(rest)
  if (hex !== null) return { byte: String.fromCharCode(Number.parseInt(hex[1] ?? '0', 16)), length: 3 }
  const char = rest.charAt(0)
  return ['"', '\\', ' ', ';'].includes(char) ? { byte: char, length: 1 } : undefined
}

function endWord(reader: Reader): void {
  if (reader.word !== undefined) reader.words.push(reader.word)
  reader.word = undefined
}

function endCommand(reader: Reader): void {
  endWord(reader)
  if (reader.words.length > 0) reader.commands.push(reader.words)
  reader.words = []
}

function finish(reader: Reader, error: ParsedLine['error']): ParsedLine {
  endCommand(reader)
  return { commands: reader.commands, ...(error !== undefined && { error }) }
}
