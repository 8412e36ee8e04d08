// What of a status that a pass asks for has to be written. Pure.

import { canonicalJson } from '../kind/projection.ts'
import type { JsonValue } from '../kind/schema.ts'

/** Absent and null are the same: a status cannot say more than that there is nothing. */
export function changedFields(wanted: Readonly<Record<string, JsonValue>>, found: unknown): Record<string, JsonValue> {
  const before = (found ?? {}) as Readonly<Record<string, unknown>>
  const differs = ([field, value]: [string, JsonValue]) => canonicalJson(value) !== canonicalJson(before[field] ?? null)
  return Object.fromEntries(Object.entries(wanted).filter(differs))
}
