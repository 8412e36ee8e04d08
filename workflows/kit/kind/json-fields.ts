// Reads untyped user input without throwing: an absent value or a value of another type reads as empty. Admission rules use it.

export type JsonFields = Readonly<Record<string, unknown>>

export function fieldsOf(value: unknown): JsonFields {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonFields) : {}
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
