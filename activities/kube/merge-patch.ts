// JSON merge patches (RFC 7386) from what is to what shall be. Pure.

import type { Patch } from './write.ts'

/**
 * The merge patch that turns `current` into `desired`; undefined when nothing differs. Lists are replaced as a whole.
 * A null in `desired` cannot be expressed by a merge patch and counts as absent.
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

/** Keys are the user's: `constructor` and `__proto__` are something on every object of the language. */
export function fieldOf(record: Patch, key: string): unknown {
  return Object.hasOwn(record, key) ? record[key] : undefined
}

/** As `mergePatch`, but keys that only `current` has stay: for labels and annotations, which others may write too. */
export function additivePatch(current: Patch, desired: Patch): Patch | undefined {
  const own = Object.fromEntries(Object.keys(desired).map((key) => [key, fieldOf(current, key)]))
  return mergePatch(own, desired)
}

/** Labels or annotations for a new object: those that it shall have, without those that it shall not. */
export function withoutUndefined(
  desired: Readonly<Record<string, string | undefined>>,
): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(desired).flatMap(([key, value]) => (value === undefined ? [] : [[key, value] as const])),
  )
}

function valuePatch(found: unknown, wanted: unknown): unknown {
  if (isRecord(found) && isRecord(wanted)) return mergePatch(found, wanted)
  return sameValue(found, wanted) ? undefined : wanted
}

function sameValue(left: unknown, right: unknown): boolean {
  if (Array.isArray(left) && Array.isArray(right)) {
    return left.length === right.length && left.every((value, index) => sameValue(value, right[index]))
  }
  if (isRecord(left) && isRecord(right)) return mergePatch(left, right) === undefined
  return left === right
}

function isRecord(value: unknown): value is Patch {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
