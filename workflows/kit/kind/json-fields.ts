// Reads untyped user input without throwing: an absent value or a value of another type reads as empty. Admission rules use it.

export type JsonFields = Readonly<Record<string, unknown>>

/** Whether the value is a JSON object, not a list or null. */
export function isFields(value: unknown): value is JsonFields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export function fieldsOf(value: unknown): JsonFields {
  return isFields(value) ? value : {}
}

export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? (value as readonly unknown[]) : []
}

export function textOf(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

/** Whether the field has a value other than null. */
export function hasField(fields: JsonFields, name: string): boolean {
  return fields[name] !== undefined && fields[name] !== null
}
