// Formats generated TypeScript like prettier with the repository's settings: no semicolons, single quotes, 120 columns.
// Supports only the forms that `emit` uses; a test compares it with prettier.

const LINE_WIDTH = 120
// A text after a shorter key stays on the key's line, because a line break would not help.
const SHORT_KEY = 5

/** Whether the text fits into the line. */
export function fits(line: string): boolean {
  return line.length <= LINE_WIDTH
}

export function indented(lines: readonly string[], by = '  '): string[] {
  return lines.map((line) => (line === '' ? '' : by + line))
}

/** A string literal, in the quotes that need fewer escapes. */
export function literal(text: string): string {
  const [singles, doubles] = [text.split("'").length, text.split('"').length]
  const delimiter = singles > doubles ? '"' : "'"
  const escaped = text.replace(/[\\\u0000-\u001f\u007f\u2028\u2029]/g, (sign) =>
    sign === '\\' ? '\\\\' : `\\u${sign.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
  return `${delimiter}${escaped.replaceAll(delimiter, `\\${delimiter}`)}${delimiter}`
}

/** A property name, in quotes where it needs them. */
export function propertyName(text: string): string {
  return /^[A-Za-z_$][A-Za-z0-9_$]*$/.test(text) ? text : literal(text)
}

/** A value of plain data: text, `true`, a list of texts, or an object of them. */
export type PlainValue = string | true | readonly string[] | { readonly [key: string]: PlainValue | undefined }

/** `key: value,` as lines at an indentation of `column`; objects on one line where they fit. */
export function property(key: string, value: PlainValue, column: number): string[] {
  const name = propertyName(key)
  const line = `${name}: ${inline(value)},`
  if (fits(' '.repeat(column) + line) || value === true) return [line]
  if (typeof value === 'string') return name.length < SHORT_KEY ? [line] : [`${name}:`, `  ${literal(value)},`]
  if (isList(value)) return [`${name}: [`, ...indented(value.map((one) => `${literal(one)},`)), '],']
  const members = entries(value).flatMap(([below, found]) => property(below, found, column + 2))
  return [`${name}: {`, ...indented(members), '},']
}

function inline(value: PlainValue): string {
  if (value === true) return 'true'
  if (typeof value === 'string') return literal(value)
  if (isList(value)) return `[${value.map(literal).join(', ')}]`
  const members = entries(value).map(([key, found]) => `${propertyName(key)}: ${inline(found)}`)
  return members.length === 0 ? '{}' : `{ ${members.join(', ')} }`
}

function isList(value: PlainValue): value is readonly string[] {
  return Array.isArray(value)
}

function entries(value: { readonly [key: string]: PlainValue | undefined }): [string, PlainValue][] {
  return Object.entries(value).flatMap(([key, found]): [string, PlainValue][] =>
    found === undefined ? [] : [[key, found]],
  )
}

/** `head(a, b)tail` on one line, or each part on its own line; `column` is the indentation. */
export function enclosed(head: string, parts: readonly string[], tail: string, column = 0): string[] {
  const [open, close] = [head.at(-1) ?? '', tail.charAt(0)]
  const spaced = open === '{' ? ' ' : ''
  const line = `${head}${spaced}${parts.join(', ')}${spaced}${tail}`
  if (fits(' '.repeat(column) + line) || parts.length === 0) return [line]
  // Lists of type arguments have no trailing comma.
  const last = close === '>' ? '' : ','
  return [head, ...parts.map((part, index) => `  ${part}${index === parts.length - 1 ? last : ','}`), tail]
}

/** A doc comment; nothing for an empty text. */
export function docComment(doc: readonly string[]): string[] {
  const lines = doc.map((line) =>
    line
      .replaceAll('*/', '*\\/')
      .replace(/[\u0000-\u001f\u007f\u2028\u2029]/g, ' ')
      .trimEnd(),
  )
  const [only = ''] = lines
  if (lines.every((line) => line === '')) return []
  if (lines.length === 1) return [`/** ${only} */`]
  return ['/**', ...lines.map((line) => (line === '' ? ' *' : ` * ${line}`)), ' */']
}
