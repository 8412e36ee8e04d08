// What stands in the JSON that API servers send, of which nothing is known.

export type Fields = Readonly<Record<string, unknown>>

export function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Empty for what is no object. */
export function fieldsOf(value: unknown): Fields {
  return isFields(value) ? value : {}
}
