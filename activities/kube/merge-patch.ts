// JSON merge patches (RFC 7386): the difference of two objects, and its application. Pure.

import { isFields } from '../../workflows/kit/index.ts'

export type Patch = Readonly<Record<string, unknown>>

/**
 * The merge patch from `current` to `desired`; undefined without a difference. Lists are replaced as a whole. A merge
 * patch cannot set null, so null in `desired` counts as absent.
 */
export function mergePatch(current: Patch, desired: Patch): Patch | undefined {
  const patch = new Map<string, unknown>()
  for (const [key, found] of Object.entries(current)) {
    if (found !== undefined && found !== null && (fieldOf(desired, key) ?? null) === null) patch.set(key, null)
  }
  for (const [key, wanted] of Object.entries(desired)) {
    if (wanted === undefined || wanted === null) continue
    const difference = valuePatch(fieldOf(current, key), wanted)
    if (difference !== undefined) patch.set(key, difference)
  }
  return patch.size === 0 ? undefined : Object.fromEntries(patch)
}

/** Reads an own property: keys come from users, and `constructor` and `__proto__` exist on every JavaScript object. */
export function fieldOf(record: Patch, key: string): unknown {
  return Object.hasOwn(record, key) ? record[key] : undefined
}

/**
 * Like `mergePatch`, but keeps keys that only `current` has: for labels and annotations, which other writers may add.
 */
export function additivePatch(current: Patch, desired: Patch): Patch | undefined {
  const own = Object.fromEntries(Object.keys(desired).map((key) => [key, fieldOf(current, key)]))
  return mergePatch(own, desired)
}

/** Labels or annotations of a new object: the entries with a value. */
export function withoutUndefined(
  desired: Readonly<Record<string, string | undefined>>,
): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(desired).flatMap(([key, value]) => (value === undefined ? [] : [[key, value] as const])),
  )
}

function valuePatch(found: unknown, wanted: unknown): unknown {
  if (isFields(found) && isFields(wanted)) return mergePatch(found, wanted)
  return sameValue(found, wanted) ? undefined : wanted
}

function sameValue(left: unknown, right: unknown): boolean {
  if (Array.isArray(left) && Array.isArray(right)) {
    return left.length === right.length && left.every((value, index) => sameValue(value, right[index]))
  }
  if (isFields(left) && isFields(right)) return mergePatch(left, right) === undefined
  return left === right
}

/** Applies a merge patch to a value. Source: RFC 7386. */
export function applyMergePatch(value: unknown, patch: unknown): unknown {
  if (!isFields(patch)) return patch
  const result = new Map(Object.entries(isFields(value) ? value : {}))
  for (const [key, change] of Object.entries(patch)) {
    if (change === null) result.delete(key)
    else result.set(key, applyMergePatch(result.get(key), change))
  }
  return Object.fromEntries(result)
}
