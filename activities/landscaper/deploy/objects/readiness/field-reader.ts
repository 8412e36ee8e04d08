// Reads parts of a user's configuration. Collects mistakes, so that one error reports all of them: field, found and expected, never a value.

export type Fields = Readonly<Record<string, unknown>>

export class FieldReader {
  /** For example `spec.config.readinessChecks.custom[0].name: found a number; expected a text`. */
  readonly mistakes: string[]

  constructor(mistakes: string[]) {
    this.mistakes = mistakes
  }

  refuse(field: string, found: string, expected: string): void {
    this.mistakes.push(`${field}: found ${found}; expected ${expected}`)
  }

  /** A map; undefined if it is absent or invalid. */
  map(value: unknown, field: string, expected = 'a map'): Fields | undefined {
    if (isMap(value)) return value
    if (value !== undefined && value !== null) this.refuse(field, describe(value), expected)
    return undefined
  }

  requiredMap(value: unknown, field: string, expected = 'a map'): Fields | undefined {
    if (isMap(value)) return value
    this.refuse(field, describe(value), expected)
    return undefined
  }

  /** The elements of a list; none if it is absent or invalid. */
  list(value: unknown, field: string): readonly unknown[] {
    if (Array.isArray(value)) return value
    if (value !== undefined && value !== null) this.refuse(field, describe(value), 'a list')
    return []
  }

  text(value: unknown, field: string, expected = 'a text'): string {
    if (typeof value === 'string' && value !== '') return value
    this.refuse(field, value === '' ? 'an empty text' : describe(value), expected)
    return ''
  }

  optionalText(value: unknown, field: string): string | undefined {
    if (value === undefined || value === null || value === '') return undefined
    return this.text(value, field)
  }

  flag(value: unknown, field: string): boolean {
    if (typeof value === 'boolean') return value
    if (value !== undefined && value !== null) this.refuse(field, describe(value), 'true or false')
    return false
  }
}

export const isMap = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** The type of a value, without the value. */
export function describe(value: unknown): string {
  if (value === undefined) return 'nothing'
  if (value === null) return 'null'
  if (typeof value === 'string') return 'another text'
  if (Array.isArray(value)) return 'a list'
  return typeof value === 'object' ? 'a map' : `a ${typeof value}`
}
