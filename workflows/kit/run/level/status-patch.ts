// Computes the status patch of a pass in level mode: changed fields, and changed conditions by type. Pure.
//
//   D1. Absent and null are equal.
//   D2. A condition belongs to the controller that writes its type. Conditions that are not mentioned or unchanged are not written, so that several
// controllers can share the list.
//   D3. A removed condition is an entry of its type with the status null; such an entry is never written.

import { canonicalJson } from '../../kind/projection.ts'
import type { JsonValue } from '../../kind/schema.ts'

/** An entry of a list of conditions, identified by its type. */
export interface ConditionEntry {
  readonly type: string
  readonly [field: string]: JsonValue
}

export interface StatusPatch {
  /** Each field replaces the old one; null removes it. */
  readonly status: Readonly<Record<string, JsonValue>>
  /** New and changed entries of `status.conditions` (D2). */
  readonly conditions: readonly ConditionEntry[]
}

/** The patch from the status `found` to `wanted`; undefined without a difference. */
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

/** The status with the patch applied. */
export function applyStatusPatch(
  found: unknown,
  { status, conditions }: StatusPatch,
): Readonly<Record<string, unknown>> {
  const merged = { ...(found ?? {}), ...status } as Readonly<Record<string, unknown>>
  const there = Object.entries(merged).filter(([, value]) => value !== null)
  if (conditions.length === 0) return Object.fromEntries(there)
  return { ...Object.fromEntries(there), conditions: mergeConditions(merged['conditions'], conditions) }
}

/** The entry that removes a condition (D3). */
export function removedEntry(type: string): ConditionEntry {
  return { type, status: null }
}

function isRemoved({ status }: ConditionEntry): boolean {
  return status === null
}

/** Merges conditions into the list: changed ones in place, new ones last (D2), removed ones omitted (D3). */
export function mergeConditions(found: unknown, changed: readonly ConditionEntry[]): readonly ConditionEntry[] {
  const before = isTyped(found) ? found : []
  const news = new Map(changed.map((condition) => [condition.type, condition]))
  const updated = before.map((condition) => news.get(condition.type) ?? condition)
  const known = new Set(before.map(({ type }) => type))
  return [...updated, ...changed.filter(({ type }) => !known.has(type))].filter((condition) => !isRemoved(condition))
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
