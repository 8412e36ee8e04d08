// From what an object is and what is wanted of it to the merge patch between the two. Pure.
//
//   P1. What is not mentioned is left alone; null removes a field.
//       What is new has no nulls in it: in a list, or below a field that is not there, a server would take them for values.
//   P2. A list is replaced as a whole, unless every element that is wanted is there already: servers fill in defaults below them.

import { fieldOf } from '../../kube/merge.ts'
import type { Patch } from '../../kube/write.ts'

/** The patch; undefined when all that is wanted is there. */
export function wantedPatch(current: Patch, wanted: Patch): Patch | undefined {
  const differing = Object.entries(wanted).flatMap(([key, value]) => {
    const found = fieldOf(current, key)
    if (value === undefined || covers(found, value)) return []
    return [[key, isRecord(found) && isRecord(value) ? wantedPatch(found, value) : withoutNulls(value)] as const]
  })
  return differing.length === 0 ? undefined : Object.fromEntries(differing)
}

/** Whether all that is wanted is found (P1, P2). */
export function covers(found: unknown, wanted: unknown): boolean {
  if (wanted === null || wanted === undefined) return found === undefined || found === null
  if (Array.isArray(wanted))
    return (
      Array.isArray(found) &&
      found.length === wanted.length &&
      wanted.every((value, index) => covers(found[index], value))
    )
  if (isRecord(wanted))
    return isRecord(found) && Object.entries(wanted).every(([key, value]) => covers(fieldOf(found, key), value))
  return found === wanted
}

/** The value without fields that are null; null itself stays what it is. */
export function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNulls)
  if (!isRecord(value)) return value
  const fields = Object.entries(value).filter(([, field]) => field !== null && field !== undefined)
  return Object.fromEntries(fields.map(([key, field]) => [key, withoutNulls(field)]))
}

function isRecord(value: unknown): value is Patch {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
