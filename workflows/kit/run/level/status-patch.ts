// What a pass in level mode says about its target's status, beside what was there: the fields that differ, and of conditions those that do. Pure.
//
//   D1. Absent and null are the same: a status cannot say more than that there is nothing.
//   D2. Conditions belong to whoever writes their type. Those that are not mentioned, or are as they were, are left alone, so that several
//       controllers share the list.
//   D3. So one that goes has to be mentioned, too: by an entry of its type with the status null. None of these is ever written.

import { canonicalJson } from '../../kind/projection.ts'
import type { JsonValue } from '../../kind/schema.ts'

/** An entry of a list of conditions: known by its type. */
export interface ConditionEntry {
  readonly type: string
  readonly [field: string]: JsonValue
}

export interface StatusPatch {
  /** Each written as a whole; null removes. */
  readonly status: Readonly<Record<string, JsonValue>>
  /** Those of `status.conditions` that are new or other than they were (D2). */
  readonly conditions: readonly ConditionEntry[]
}

/** What of `wanted` is news beside `found`; undefined when nothing is. */
export function statusPatch(wanted: Readonly<Record<string, unknown>>, found: unknown): StatusPatch | undefined {
  const before = (found ?? {}) as Readonly<Record<string, unknown>>
  const { conditions: said, ...others } = wanted as Readonly<Record<string, JsonValue>>
  const isShared = isTyped(said) && (before['conditions'] === undefined || isTyped(before['conditions']))
  const fields = isShared || said === undefined ? others : { ...others, conditions: said }
  const differing = Object.entries(fields).filter(([field, value]) => differs(value, before[field]))
  const conditions = isShared ? changedEntries(said, before['conditions']) : []
  if (differing.length === 0 && conditions.length === 0) return undefined
  return { status: Object.fromEntries(differing), conditions }
}

/** A status with the news in it. */
export function applyStatusPatch(
  found: unknown,
  { status, conditions }: StatusPatch,
): Readonly<Record<string, unknown>> {
  const merged = { ...(found ?? {}), ...status } as Readonly<Record<string, unknown>>
  const there = Object.entries(merged).filter(([, value]) => value !== null)
  if (conditions.length === 0) return Object.fromEntries(there)
  return { ...Object.fromEntries(there), conditions: mergeConditions(merged['conditions'], conditions) }
}

/** What is said of a condition that goes (D3). */
export function removedEntry(type: string): ConditionEntry {
  return { type, status: null }
}

function isRemoved({ status }: ConditionEntry): boolean {
  return status === null
}

/** The list with these in it: each in the place of the one of its type, new ones last (D2); without those that go (D3). */
export function mergeConditions(found: unknown, changed: readonly ConditionEntry[]): readonly ConditionEntry[] {
  const before = isTyped(found) ? found : []
  const news = new Map(changed.map((condition) => [condition.type, condition]))
  const kept = before.map((condition) => news.get(condition.type) ?? condition)
  const known = new Set(before.map(({ type }) => type))
  return [...kept, ...changed.filter(({ type }) => !known.has(type))].filter((condition) => !isRemoved(condition))
}

function changedEntries(said: readonly ConditionEntry[], found: unknown): readonly ConditionEntry[] {
  const before = new Map((isTyped(found) ? found : []).map((condition) => [condition.type, condition]))
  return said.filter((condition) => {
    const there = before.get(condition.type)
    return isRemoved(condition) ? there !== undefined : differs(condition, there)
  })
}

/** D1 */
function differs(value: JsonValue | undefined, found: unknown): boolean {
  return canonicalJson(value ?? null) !== canonicalJson(found ?? null)
}

function isTyped(value: unknown): value is readonly ConditionEntry[] {
  return (
    Array.isArray(value) &&
    value.every((entry: unknown) => typeof (entry as Partial<ConditionEntry> | null)?.type === 'string')
  )
}
