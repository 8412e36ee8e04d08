// The order in which the items below an object are deleted, for `pawl delete`. Pure.
//
//   D1. A sibling is deleted after the siblings that depend on it or import its data.
//   D2. Siblings on a cycle have no order, and are deleted together.

import { groupKindText, joinNames, textAt } from '../../../workflows/kit/index.ts'
import { phaseIn } from '../query/format.ts'
import { itemName } from './item-names.ts'
import type { LiveNode } from './live-tree.ts'

const MAX_GROUPS = 4
const MAX_NAMES = 5

/** `deleting 3 items in reverse order: app, then cache and db`; undefined if no items are left. */
export function deletionOrderText(root: LiveNode): string | undefined {
  const groups = deletionGroups(root)
  const count = groups.reduce((sum, group) => sum + group.length, 0)
  if (count === 0) return undefined
  const shown = groups.slice(0, MAX_GROUPS).map(listed)
  const rest = groups.length > MAX_GROUPS ? [`${groups.slice(MAX_GROUPS).flat().length} more`] : []
  const how = groups.length > 1 ? ' in reverse order' : ''
  return `deleting ${count} item${count === 1 ? '' : 's'}${how}: ${[...shown, ...rest].join(', then ')}`
}

function listed(names: readonly string[]): string {
  if (names.length > MAX_NAMES) return joinNames(names, MAX_NAMES)
  return names.length === 1 ? (names[0] ?? '') : `${names.slice(0, -1).join(', ')} and ${names.at(-1) ?? ''}`
}

interface RankedItem {
  readonly name: string
  /** The rank of each ancestor below the root among its siblings, and of the item; lower ranks are deleted first. */
  readonly ranks: readonly number[]
}

/** The items that are deleted together, in the order of their deletion. */
function deletionGroups(root: LiveNode): readonly (readonly string[])[] {
  const groups = new Map<string, { readonly ranks: readonly number[]; readonly names: string[] }>()
  for (const { name, ranks } of rankedItems(root, [], [])) {
    const key = ranks.join('.')
    const group = groups.get(key) ?? { ranks, names: [] }
    group.names.push(name)
    groups.set(key, group)
  }
  return [...groups.values()].toSorted((a, b) => compareRanks(a.ranks, b.ranks)).map(({ names }) => names)
}

function compareRanks(left: readonly number[], right: readonly number[]): number {
  for (const [index, rank] of left.entries()) {
    const other = right[index] ?? -1
    if (rank !== other) return rank - other
  }
  return left.length - right.length
}

function rankedItems(node: LiveNode, ranks: readonly number[], names: readonly string[]): readonly RankedItem[] {
  return siblingFamilies(node.children).flatMap((family) => {
    const rankOf = ranksIn(family)
    return family.flatMap((child, index): readonly RankedItem[] => {
      const below = [...ranks, rankOf[index] ?? 0]
      const { steering } = child.kind
      const path = steering.nameInParent === undefined ? names : [...names, itemName(child)]
      if (steering.retry === undefined) return rankedItems(child, below, path)
      const isDeleting = child.object.metadata.deletionTimestamp !== undefined
      const state = isDeleting ? ` (${phaseIn(child.object) ?? 'waiting'})` : ''
      return [{ name: `${path.join('/')}${state}`, ranks: below }]
    })
  })
}

function siblingFamilies(children: readonly LiveNode[]): readonly (readonly LiveNode[])[] {
  const families = new Map<string, LiveNode[]>()
  for (const child of children) {
    const kind = groupKindText(child.kind)
    families.set(kind, [...(families.get(kind) ?? []), child])
  }
  return [...families.values()]
}

/** Rank 0: no sibling depends on it (D1). */
function ranksIn(family: readonly LiveNode[]): readonly number[] {
  const dependents = family.map((one) => family.flatMap((other, index) => (dependsOn(other, one) ? [index] : [])))
  const ranks = family.map(() => 0)
  // The longest chain without a cycle has as many members as the family (D2).
  for (let round = 1; round < family.length; round++) {
    let isChanged = false
    for (const [index, others] of dependents.entries()) {
      const rank = Math.max(0, ...others.map((other) => (ranks[other] ?? 0) + 1))
      isChanged ||= rank !== ranks[index]
      ranks[index] = rank
    }
    if (!isChanged) return ranks
  }
  return ranks
}

function dependsOn(one: LiveNode, other: LiveNode): boolean {
  if (one === other) return false
  const { after, flow } = one.kind.siblings
  const names = (after === undefined ? '' : (textAt(one.object, after) ?? '')).split(',').map((name) => name.trim())
  if (names.includes(siblingName(other))) return true
  const given = new Set(flow?.(other.object).gives ?? [])
  return (flow?.(one.object).takes ?? []).some((name) => given.has(name))
}

function siblingName({ kind, object }: LiveNode): string {
  const { name } = kind.siblings
  return (name && textAt(object, name)) ?? object.metadata.name
}
