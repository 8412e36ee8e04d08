// Reads and checks the input of a question. The input is untrusted; an error names the field, the value's type and the
// expected type.

const MAX_TEXT_LENGTH = 1000
/** Maximum length of a list in an answer. */
const MAX_LIST_LENGTH = 10_000

/** The input is invalid; the server answers 400. */
export class BadQuestion extends Error {}

export type JsonObject = Readonly<Record<string, unknown>>

/** @throws BadQuestion */
export function inputOf(value: unknown): Input {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new BadQuestion(`the body is ${shapeOf(value)}; expected a JSON object`)
  return new Input(value as JsonObject)
}

export class Input {
  readonly #value: JsonObject

  constructor(value: JsonObject) {
    this.#value = value
  }

  text(field: string): string {
    return this.maybeText(field) ?? this.#wrong(field, 'a string')
  }

  /** Undefined if the field is absent or null. */
  maybeText(field: string): string | undefined {
    const value = this.#at(field)
    if (value === undefined) return undefined
    return isText(value) ? value : this.#wrong(field, `a string of at most ${MAX_TEXT_LENGTH} characters`)
  }

  texts(field: string): readonly string[] {
    const value = this.#at(field)
    if (!Array.isArray(value) || value.length > MAX_LIST_LENGTH || !value.every(isText))
      return this.#wrong(field, `a list of at most ${MAX_LIST_LENGTH} strings`)
    return value
  }

  /** Safe integers, such as sequence numbers of journal events. */
  counts(field: string): readonly number[] {
    const value = this.#at(field)
    if (!Array.isArray(value) || value.length > MAX_LIST_LENGTH || !value.every(isCount))
      return this.#wrong(field, `a list of at most ${MAX_LIST_LENGTH} whole numbers`)
    return value
  }

  time(field: string): Date {
    return this.maybeTime(field) ?? this.#wrong(field, 'a time such as 2026-02-03T10:42:00Z')
  }

  maybeTime(field: string): Date | undefined {
    const text = this.maybeText(field)
    if (text === undefined) return undefined
    const time = new Date(text)
    return Number.isNaN(time.getTime()) ? this.#wrong(field, 'a time such as 2026-02-03T10:42:00Z') : time
  }

  /** At least 1; undefined if the field is absent or null. */
  maybeCount(field: string, most: number): number | undefined {
    const value = this.#at(field)
    if (value === undefined) return undefined
    if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < 1 || value > most)
      return this.#wrong(field, `a whole number from 1 to ${most}`)
    return value
  }

  #at(field: string): unknown {
    const value = Object.hasOwn(this.#value, field) ? this.#value[field] : undefined
    return value === null ? undefined : value
  }

  #wrong(field: string, expected: string): never {
    throw new BadQuestion(`${field} is ${shapeOf(this.#at(field))}; expected ${expected}`)
  }
}

function isText(value: unknown): value is string {
  // PostgreSQL texts cannot contain NUL.
  return typeof value === 'string' && value.length <= MAX_TEXT_LENGTH && !value.includes('\0')
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value)
}

/** The type and length, without the value, which may be long. */
function shapeOf(value: unknown): string {
  if (value === undefined) return 'missing'
  if (value === null) return 'null'
  if (Array.isArray(value)) return `a list of ${value.length}`
  if (typeof value === 'string') return `a text of ${value.length} characters`
  return typeof value === 'number' ? `the number ${value}` : `of type ${typeof value}`
}
