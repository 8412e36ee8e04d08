// Computes the merge patch from an object to its desired fields. Pure.
//
//   P1. Fields that are not mentioned stay; null removes a field. New lists and fields contain no nulls, because the API server would store them.
//   P2. A list is replaced as a whole, unless all desired elements are already there: the API server adds defaults to elements.

import { fieldOf, type Patch } from '../../kube/merge-patch.ts'
import { isFields } from '../../../workflows/kit/index.ts'

/** Returns the patch; undefined if the object already has all desired fields. */
export function mergePatchTo(current: Patch, desired: Patch): Patch | undefined {
  const differing = Object.entries(desired).flatMap(([key, value]) => {
    const currentValue = fieldOf(current, key)
    if (value === undefined || containsAll(currentValue, value)) return []
    return [
      [
        key,
        isFields(currentValue) && isFields(value) ? mergePatchTo(currentValue, value) : withoutNulls(value),
      ] as const,
    ]
  })
  return differing.length === 0 ? undefined : Object.fromEntries(differing)
}

/** Whether `current` contains all desired fields (P1, P2). */
export function containsAll(current: unknown, desired: unknown): boolean {
  if (desired === null || desired === undefined) return current === undefined || current === null
  if (Array.isArray(desired))
    return (
      Array.isArray(current) &&
      current.length === desired.length &&
      desired.every((value, index) => containsAll(current[index], value))
    )
  if (isFields(desired))
    return (
      isFields(current) && Object.entries(desired).every(([key, value]) => containsAll(fieldOf(current, key), value))
    )
  return current === desired
}

/** Removes fields that are null; a null value itself stays. */
export function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNulls)
  if (!isFields(value)) return value
  const fields = Object.entries(value).filter(([, field]) => field !== null && field !== undefined)
  return Object.fromEntries(fields.map(([key, field]) => [key, withoutNulls(field)]))
}
