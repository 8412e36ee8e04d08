// Replaces the fields that the deployer set in a live object by the manifest's, and keeps the fields of other field managers. Pure.
//
//   O1. A field that the manifest sets has the manifest's value, even if another manager wrote the live value. For null the server sets the
//       default.
//   O2. A field that the manifest does not set stays if another field manager owns it, and is removed if only the deployer, or no manager, owns it.
//   O3. List elements have the manifest's order; the elements of other managers keep their positions among them.
//
// Without managedFields the owners are unknown, and the manifest replaces everything.

import { type ElementSet, type FieldSet, hasElements, isWhole } from '../../../kube/managed-fields.ts'
import { fieldOf } from '../../../kube/merge-patch.ts'
import { isMap, type Json } from './config-reader.ts'

export interface Owners {
  /** The fields of other field managers. */
  readonly others: FieldSet | undefined
  /** The fields of all managers, which show how the API merges maps and lists. */
  readonly all: FieldSet | undefined
}

export function withOthersFields(live: unknown, wanted: unknown, owners: Owners): unknown {
  if (isMap(live) && isMap(wanted)) {
    return isWhole(owners.all) && Object.keys(live).length > 0 ? wanted : mergedMap(live, wanted, owners)
  }
  if (Array.isArray(live) && Array.isArray(wanted) && hasElements(owners.all)) return mergedList(live, wanted, owners)
  return wanted
}

/** The owners of a subfield. */
export function ownersOf({ others, all }: Owners, field: string): Owners {
  return { others: others?.fields.get(field), all: all?.fields.get(field) }
}

function mergedMap(live: Json, wanted: Json, owners: Owners): Json {
  const entries = [...new Set([...Object.keys(live), ...Object.keys(wanted)])].map((key): [string, unknown] => {
    const [mine, theirs] = [fieldOf(wanted, key), fieldOf(live, key)]
    const below = ownersOf(owners, key)
    return [key, mine === undefined ? ownedPart(theirs, below.others) : withOthersFields(theirs, mine, below)]
  })
  return Object.fromEntries(entries.filter(([, value]) => value !== undefined))
}

/** The part of a live value that a set owns; undefined if it owns nothing. */
function ownedPart(live: unknown, set: FieldSet | undefined): unknown {
  if (set === undefined || live === undefined) return undefined
  if (isMap(live) && set.fields.size > 0) {
    const parts = Object.keys(live).map((key) => [key, ownedPart(live[key], set.fields.get(key))] as const)
    const owned = parts.filter(([, value]) => value !== undefined)
    return owned.length === 0 && !set.isOwned ? undefined : Object.fromEntries(owned)
  }
  if (Array.isArray(live) && hasElements(set)) {
    const find = elementFinder(set)
    const owned = live.flatMap((element: unknown) => ownedElement(element, find(element)) ?? [])
    return owned.length === 0 && !set.isOwned ? undefined : owned
  }
  return set.isOwned ? live : undefined
}

function ownedElement(live: unknown, element: ElementSet | undefined): unknown {
  if (element?.set.isOwned !== true) return undefined
  if (!isMap(live) || element.key === undefined) return live
  return { ...element.key, ...(ownedPart(live, element.set) as Json | undefined) }
}

function mergedList(live: readonly unknown[], wanted: readonly unknown[], { others, all }: Owners): readonly unknown[] {
  const pairs = pairsOf(live, wanted, all)
  const [findOthers, findAll] = [elementFinder(others), elementFinder(all)]
  const elements = wanted.map((element, index) => {
    const at = pairs.get(index)
    if (at === undefined) return element
    const owners = { others: findOthers(live[at])?.set, all: findAll(live[at])?.set }
    return withOthersFields(live[at], element, owners)
  })
  const isWanted = elementMatcher(wanted, all)
  // A server may have two live elements with the same keys; at most one of them is the manifest's.
  const rest = (one: unknown) => (isWanted(one) ? undefined : ownedElement(one, findOthers(one)))
  return inPlaces(live, new Set(pairs.values()), { elements, rest })
}

interface Elements {
  /** In their order. */
  readonly elements: readonly unknown[]
  /** The part of another element that stays; undefined if nothing stays. */
  readonly rest: (live: unknown) => unknown
}

/** O3. `taken` are the positions in `live` of elements that are among the new ones. */
export function inPlaces(
  live: readonly unknown[],
  taken: ReadonlySet<number>,
  { elements, rest }: Elements,
): readonly unknown[] {
  const left = [...elements]
  const inLive = live.flatMap((one, index) => {
    const element = taken.has(index) ? left.shift() : rest(one)
    return element === undefined ? [] : [element]
  })
  return [...inLive, ...left]
}

/** Maps the index of each wanted element to the index of the live element with the same keys. */
export function pairsOf(
  live: readonly unknown[],
  wanted: readonly unknown[],
  set: FieldSet | undefined,
): ReadonlyMap<number, number> {
  const names = keyNames(set)
  const places = new Map(live.map((element, index) => [identity(element, names), index]))
  const pairs = new Map<number, number>()
  for (const [index, element] of wanted.entries()) {
    const text = identity(element, names)
    const at = places.get(text)
    if (at !== undefined) pairs.set(index, at)
    // A second element with the same keys is a different element.
    places.delete(text)
  }
  return pairs
}

/** Finds the entry of a set that describes a live element. */
export function elementFinder(set: FieldSet | undefined): (live: unknown) => ElementSet | undefined {
  const names = keyNames(set)
  const known = new Map(set?.elements.map((element) => [identity(element.key ?? element.value, names), element]))
  return (live) => known.get(identity(live, names))
}

function elementMatcher(elements: readonly unknown[], set: FieldSet | undefined): (one: unknown) => boolean {
  const names = keyNames(set)
  const known = new Set(elements.map((element) => identity(element, names)))
  return (one) => known.has(identity(one, names))
}

/** The key fields of list elements; undefined in a set of scalars. */
function keyNames(set: FieldSet | undefined): readonly string[] | undefined {
  const key = set?.elements.find((element) => element.key !== undefined)?.key
  return key === undefined ? undefined : Object.keys(key)
}

/** Defaults of key fields, which a manifest may omit. */
const KEY_DEFAULTS: Json = { protocol: 'TCP' }

function identity(element: unknown, names: readonly string[] | undefined): string {
  const values = names === undefined ? [element] : names.map((name) => keyValue(element, name))
  return values.map((value) => (isScalar(value) ? `${typeof value}:${String(value)}` : 'none')).join('\n')
}

/** Only scalars identify elements; a hostile server may send any value. */
const isScalar = (value: unknown) => ['string', 'number', 'bigint', 'boolean'].includes(typeof value)

function keyValue(element: unknown, name: string): unknown {
  return (isMap(element) ? fieldOf(element, name) : undefined) ?? fieldOf(KEY_DEFAULTS, name)
}
