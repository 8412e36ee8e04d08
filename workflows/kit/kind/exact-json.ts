// Reads and writes JSON of user data without losing a digit. Pure; all layers use these functions in place of JSON.parse and JSON.stringify.
//
//   N1. A number that JavaScript writes back with the same value is a `number`. Any other integer is a `bigint`.
//   N2. JSON.stringify throws for a `bigint`, so code that does not use `writeJson` fails and never writes another number.
//   N3. A number that no double holds (1e400) is an error with the field's path, never Infinity or null.
//   N4. Text without a long number costs one search more than JSON.parse.

interface RawNumbers {
  readonly parse: (text: string, reviver: (key: string, value: unknown, context: Source) => unknown) => unknown
  readonly rawJSON: (text: string) => unknown
}

interface Source {
  /** Of numbers and other values that have no parts. */
  readonly source?: string
}

// Newer than the library types of `es2023`.
const { parse, rawJSON } = JSON as unknown as RawNumbers

/** A number beyond the doubles. */
export class NumberRangeError extends Error {
  /** Such as `spec.replicas`; empty for the document itself. */
  readonly path: string

  constructor(path: string) {
    super(`${path === '' ? 'the document' : `field "${path}"`}: the number is too large; expected at most 1.8e308`)
    this.name = 'NumberRangeError'
    this.path = path
  }
}

/** The start of a number with 16 digits, or with an exponent of three: other numbers lose nothing. Texts may match, too, which costs time only. */
const LONG_NUMBER = /(?:^|[:[,])\s*-?(?:\d{16}|\d[\d.]*[eE]\+?\d{3})/
const INTEGER = /^-?\d+$/

/** The value of a JSON text (N1). @throws SyntaxError, NumberRangeError (N3) */
export function readJson(text: string): unknown {
  if (!LONG_NUMBER.test(text)) return JSON.parse(text) as unknown
  const tooLarge = new Set<unknown>()
  const value = parse(text, (_key, found, { source }) => {
    if (typeof found !== 'number' || source === undefined) return found
    const exact = numberOf(source)
    if (Math.abs(Number(exact)) === Infinity) tooLarge.add(exact)
    return exact
  })
  if (tooLarge.size > 0) throw new NumberRangeError(pathOfInfinity(value) ?? '')
  return value
}

/** An integer as `readJson` returns it (N1). */
export function exactInteger(integer: bigint): number | bigint {
  const value = Number(integer)
  return Number.isSafeInteger(value) || String(value) === String(integer) ? value : integer
}

function numberOf(text: string): number | bigint {
  const value = Number(text)
  return INTEGER.test(text) && Number.isFinite(value) && !Number.isSafeInteger(value)
    ? exactInteger(BigInt(text))
    : value
}

/** As JSON.stringify, with all digits. */
export function writeJson(value: unknown, space?: number): string {
  try {
    return JSON.stringify(value, undefined, space)
  } catch (error) {
    if (!(error instanceof TypeError) || !/BigInt/.test(error.message)) throw error
    return JSON.stringify(
      value,
      (_key, found: unknown) => (typeof found === 'bigint' ? rawJSON(String(found)) : found),
      space,
    )
  }
}

function pathOfInfinity(value: unknown): string | undefined {
  if (value === Infinity || value === -Infinity) return ''
  if (typeof value !== 'object' || value === null) return undefined
  for (const [key, entry] of Object.entries(value)) {
    const below = pathOfInfinity(entry)
    if (below === undefined) continue
    const step = Array.isArray(value) ? `[${key}]` : key
    return below === '' || below.startsWith('[') ? `${step}${below}` : `${step}.${below}`
  }
  return undefined
}
