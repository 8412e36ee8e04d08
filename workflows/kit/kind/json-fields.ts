// Reads what users wrote, of which nothing is known: what is absent or of another type reads as empty. For rules, which must not throw.

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

/** Whether the field has a value; null is none. */
export function hasField(fields: JsonFields, name: string): boolean {
  return fields[name] !== undefined && fields[name] !== null
}
