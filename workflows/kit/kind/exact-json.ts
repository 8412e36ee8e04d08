// Reads and writes JSON of user data without losing a digit. Pure; all layers use these functions in place of JSON.parse and JSON.stringify.
//
//   N1. A number that JavaScript writes back with the same value is a `number`. Any other integer is a `bigint`.
//   N2. JSON.stringify throws for a `bigint`, so code that does not use `writeJson` fails and never writes another number.
//   N3. A number that no double holds (1e400) is an error with the field's path, never Infinity or null.
//   N4. Text without a long number costs one search more than JSON.parse. Text with long numbers costs one more pass over text and value, so that a user
//       who writes such numbers does not stop the event loop.

// Newer than the library types of `es2023`.
const { rawJSON } = JSON as unknown as { readonly rawJSON: (text: string) => object }

/** A number outside of the range of doubles. */
export class NumberRangeError extends Error {
  /** The path, such as `spec.replicas`; empty for the document itself. */
  readonly path: string

  constructor(path: string) {
    super(`${path === '' ? 'the document' : `field "${path}"`}: the number is too large; expected at most 1.8e308`)
    this.name = 'NumberRangeError'
    this.path = path
  }
}

/** The start of a number with 16 digits, or with an exponent of three: other numbers are exact. Texts may match too, which only costs time. */
const LONG_NUMBER = /(?:^|[:[,])\s*-?(?:\d{16}|\d[\d.]*[eE]\+?\d{3})/
/** A quoted text, or such a number. */
const TEXT_OR_LONG_NUMBER =
  /"[^"\\]*(?:\\[^][^"\\]*)*"|(?<=^|[:[,\s])-?(?=\d{16}|\d[\d.]*[eE]\+?\d{3})(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?(?=[,\]}\s]|$)/g
const INTEGER = /^-?\d+$/

// While JSON.parse runs, doubles from 2^1023 upwards are placeholders: the document itself has none, because each number of that size is a long
// number.
const FIRST_PLACEHOLDER = 2 ** 1023
const PLACEHOLDER_STEP = 2 ** 971

/** The value of a JSON text (N1). @throws SyntaxError, NumberRangeError (N3) */
export function readJson(text: string): unknown {
  if (!LONG_NUMBER.test(text)) return JSON.parse(text) as unknown
  const numbers: (number | bigint)[] = []
  const marked = text.replace(TEXT_OR_LONG_NUMBER, (token) => {
    if (token.startsWith('"')) return token
    numbers.push(numberOf(token))
    return String(FIRST_PLACEHOLDER + (numbers.length - 1) * PLACEHOLDER_STEP)
  })
  const document = { value: JSON.parse(marked) as unknown }
  if (numbers.length > 0) replacePlaceholders(document, numbers)
  if (numbers.some((one) => Math.abs(Number(one)) === Infinity))
    throw new NumberRangeError(pathOfInfinity(document.value) ?? '')
  return document.value
}

// Not recursive: documents may be nested deeper than the stack.
function replacePlaceholders(document: object, numbers: readonly (number | bigint)[]): void {
  const open = [document]
  for (let container = open.pop(); container !== undefined; container = open.pop()) {
    if (Array.isArray(container)) replaceElements(container as unknown[], numbers, open)
    else replaceFields(container, numbers, open)
  }
}

/** @param open gets the nested maps and lists. */
function replaceElements(elements: unknown[], numbers: readonly (number | bigint)[], open: object[]): void {
  // By index: `entries` of a very long array takes longer than parsing it.
  for (let index = 0; index < elements.length; index++) {
    const value = elements[index]
    if (typeof value === 'object' && value !== null) open.push(value)
    else if (isPlaceholder(value)) elements[index] = numberFor(value, numbers)
  }
}

function replaceFields(fields: object, numbers: readonly (number | bigint)[], open: object[]): void {
  for (const [key, value] of Object.entries(fields) as [string, unknown][]) {
    if (typeof value === 'object' && value !== null) open.push(value)
    // Not by assignment, which would set the prototype for the key "__proto__".
    else if (isPlaceholder(value)) Object.defineProperty(fields, key, { value: numberFor(value, numbers) })
  }
}

function isPlaceholder(value: unknown): value is number {
  return typeof value === 'number' && value >= FIRST_PLACEHOLDER
}

function numberFor(placeholder: number, numbers: readonly (number | bigint)[]): number | bigint | undefined {
  return numbers[(placeholder - FIRST_PLACEHOLDER) / PLACEHOLDER_STEP]
}

/** An integer as `readJson` returns it (N1). */
export function exactInteger(integer: bigint): number | bigint {
  const value = Number(integer)
  return Number.isSafeInteger(value) || String(value) === String(integer) ? value : integer
}

function numberOf(text: string): number | bigint {
  const value = Number(text)
  const isExact = Number.isSafeInteger(value) || String(value) === text || !Number.isFinite(value)
  return isExact || !INTEGER.test(text) ? value : exactInteger(BigInt(text))
}

/** Like JSON.stringify, with all digits. */
export function writeJson(value: unknown, space?: number): string {
  try {
    return JSON.stringify(value, undefined, space)
  } catch (error) {
    if (!(error instanceof TypeError) || !/BigInt/.test(error.message)) throw error
    return JSON.stringify(withRawNumbers(value), undefined, space)
  }
}

/** Replaces each bigint by the placeholder that writeJson expects; a value without bigint is returned unchanged. */
function withRawNumbers(value: unknown): unknown {
  if (typeof value === 'bigint') return rawJSON(String(value))
  if (typeof value !== 'object' || value === null) return value
  // Dates, for example: JSON.stringify writes what toJSON returns.
  if ('toJSON' in value && typeof value.toJSON === 'function') return value
  if (Array.isArray(value)) {
    const raw = value.map(withRawNumbers)
    return raw.every((one, index) => one === value[index]) ? value : raw
  }
  const entries = Object.entries(value).map(([key, one]): [string, unknown] => [key, withRawNumbers(one)])
  const fields = value as Readonly<Record<string, unknown>>
  return entries.every(([key, one]) => one === fields[key]) ? value : Object.fromEntries(entries)
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
