// Which fields of two values of JSON differ. Pure.

export interface Change {
  /** `change.lastError.reason`; empty for the whole. */
  readonly field: string
  /** Undefined: it is not there. */
  readonly from: unknown
  readonly to: unknown
}

/** In the order of their names; a list that differs in its length is told as a whole. */
export function changedFields(from: unknown, to: unknown, field = ''): readonly Change[] {
  if (Array.isArray(from) && Array.isArray(to)) {
    if (from.length !== to.length) return [{ field, from, to }]
    return from.flatMap((one: unknown, index) => changedFields(one, to[index], `${field}[${index}]`))
  }
  if (!isRecord(from) || !isRecord(to)) return Object.is(from, to) ? [] : [{ field, from, to }]
  const names = [...new Set([...Object.keys(from), ...Object.keys(to)])].sort()
  return names.flatMap((name) => changedFields(from[name], to[name], field === '' ? name : `${field}.${name}`))
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
