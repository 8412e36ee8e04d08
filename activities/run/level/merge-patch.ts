// Computes the merge patch from an object to its desired fields. Pure.
//
//   P1. Fields that are not mentioned stay; null removes a field. New lists and fields contain no nulls, because the API server would store them.
//   P2. A list is replaced as a whole, unless all desired elements are already there: the API server adds defaults to elements.

import { fieldOf, type Patch } from '../../kube/merge-patch.ts'
import { isFields } from '../../../workflows/kit/index.ts'

/** Returns the patch; undefined if the object already has all desired fields. */
export function mergePatchTo(current: Patch, wanted: Patch): Patch | undefined {
  const differing = Object.entries(wanted).flatMap(([key, value]) => {
    const found = fieldOf(current, key)
    if (value === undefined || containsAll(found, value)) return []
    return [[key, isFields(found) && isFields(value) ? mergePatchTo(found, value) : withoutNulls(value)] as const]
  })
  return differing.length === 0 ? undefined : Object.fromEntries(differing)
}

/** Whether `found` contains all desired fields (P1, P2). */
export function containsAll(found: unknown, wanted: unknown): boolean {
  if (wanted === null || wanted === undefined) return found === undefined || found === null
  if (Array.isArray(wanted))
    return (
      Array.isArray(found) &&
      found.length === wanted.length &&
      wanted.every((value, index) => containsAll(found[index], value))
    )
  if (isFields(wanted))
    return isFields(found) && Object.entries(wanted).every(([key, value]) => containsAll(fieldOf(found, key), value))
  return found === wanted
}

/** Removes fields that are null; a null value itself stays. */
export function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNulls)
  if (!isFields(value)) return value
  const fields = Object.entries(value).filter(([, field]) => field !== null && field !== undefined)
  return Object.fromEntries(fields.map(([key, field]) => [key, withoutNulls(field)]))
}
