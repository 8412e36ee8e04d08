// From what an object is and what is wanted of it to the merge patch between the two. Pure.
//
//   P1. What is not mentioned is left alone; null removes a field.
//   P2. A list is replaced as a whole, unless every element that is wanted is there already: servers fill in defaults below them.

import { fieldOf } from '../../kube/merge.ts'
import type { Patch } from '../../kube/write.ts'

/** The patch; undefined when all that is wanted is there. */
export function wantedPatch(current: Patch, wanted: Patch): Patch | undefined {
  const differing = Object.entries(wanted).flatMap(([key, value]) => {
    const found = fieldOf(current, key)
    if (value === undefined || covers(found, value)) return []
    return [[key, isRecord(found) && isRecord(value) ? wantedPatch(found, value) : value] as const]
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

function isRecord(value: unknown): value is Patch {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
