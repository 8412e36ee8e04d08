// Compares a live object with a manifest. The object has more fields: defaults, status, additions of admission and other controllers. Pure.
//
//   V1. `covers` returns true only for certain equality. If it returns false, the server may still store the same value in another notation: a dry
//       run decides (apply-object.ts).
//   V2. `covers` returns true for each result of `overlaid`.
//   V3. Fields, and elements of lists with keys, that only the live object has are no difference, unless the API replaces the map or list as a
//       whole.
//       Fields that were removed from a manifest are detected by its hash instead (changes.ts).
//
// Source: spec/landscaper.md 4.2 "updateStrategy".

import { type FieldSet, hasElements, isWhole } from '../../../kube/managed-fields.ts'
import { fieldOf } from '../../../kube/merge-patch.ts'
import { isMap, type Json } from './config-reader.ts'
import { elementFinder, inPlaces, pairsOf } from './others-fields.ts'

/** The owners of a field of a live object; `whole` inside a value that the API replaces as a whole; undefined if the owners are unknown. */
type Place = FieldSet | 'whole' | undefined

/** Whether `live` has every value of `wanted`, apart from additions and the notation of quantities. `set` has the fields of all managers. */
export function covers(live: unknown, wanted: unknown, set?: FieldSet): boolean {
  return coversAt(live, wanted, { place: set, isQuantity: false })
}

interface At {
  readonly place: Place
  /** Whether the value may be a quantity; undefined inside texts of the user. */
  readonly isQuantity: boolean | undefined
}

function coversAt(live: unknown, wanted: unknown, { place, isQuantity }: At): boolean {
  if (wanted === undefined) return true
  const inside = isWholeAt(place, live) ? 'whole' : place
  if (isMap(wanted)) return isMap(live) && coversMap(live, wanted, { place: inside, isQuantity })
  if (Array.isArray(wanted)) return Array.isArray(live) && coversList(live, wanted, { place: inside, isQuantity })
  return wanted === live || (isQuantity === true && sameQuantity(live, wanted))
}

function isWholeAt(place: Place, live: unknown): boolean {
  if (place === 'whole') return true
  // A map that was empty when it was written may have any type.
  return isWhole(place) && !(isMap(live) && Object.keys(live).length === 0)
}

function coversMap(live: Json, wanted: Json, { place, isQuantity }: At): boolean {
  if (place === 'whole' && Object.keys(live).some((key) => fieldOf(wanted, key) === undefined)) return false
  return Object.entries(wanted).every(([key, value]) => {
    // Many tools write it, and servers ignore it.
    if (key === 'creationTimestamp' && value === null) return true
    const below = {
      place: place === 'whole' ? place : place?.fields.get(key),
      isQuantity: isQuantity === undefined || TEXTS.has(key) ? undefined : isQuantity || QUANTITIES.has(key),
    }
    return coversAt(fieldOf(live, key), value, below)
  })
}

function coversList(live: readonly unknown[], wanted: readonly unknown[], { place, isQuantity }: At): boolean {
  if (place !== 'whole' && hasElements(place)) {
    const pairs = pairsOf(live, wanted, place)
    const find = elementFinder(place)
    return isInOrder(pairs, wanted.length, (index, at) =>
      coversAt(live[at], wanted[index], { place: find(live[at])?.set, isQuantity }),
    )
  }
  if (place === undefined && isNamedList(live) && isNamedList(wanted)) {
    const pairs = namedPairs(live, wanted)
    return isInOrder(pairs, wanted.length, (index, at) => coversAt(live[at], wanted[index], { place, isQuantity }))
  }
  const below = { place: place === 'whole' ? place : undefined, isQuantity }
  const single = { ...below, isQuantity: isQuantity === undefined ? undefined : false }
  return (
    live.length === wanted.length &&
    wanted.every((entry, index) => coversAt(live[index], entry, isMap(entry) ? below : single))
  )
}

type Pairs = ReadonlyMap<number, number>

/** Whether each wanted element has an equal live element, in the same order. */
function isInOrder(pairs: Pairs, count: number, isAlike: (index: number, at: number) => boolean): boolean {
  let last = -1
  for (let index = 0; index < count; index++) {
    const at = pairs.get(index)
    if (at === undefined || at < last || !isAlike(index, at)) return false
    last = at
  }
  return true
}

/** Merges `wanted` into `live`: maps by key, lists of named elements by name, other values from `wanted`. */
export function overlaid(live: unknown, wanted: unknown): unknown {
  if (wanted === undefined) return live
  if (isMap(live) && isMap(wanted)) return overlaidMap(live, wanted)
  return isNamedList(live) && isNamedList(wanted) ? overlaidList(live, wanted) : wanted
}

function overlaidList(live: readonly Json[], wanted: readonly Json[]): readonly unknown[] {
  const pairs = namedPairs(live, wanted)
  const elements = wanted.map((entry, index) => overlaid(live[pairs.get(index) ?? -1], entry))
  return inPlaces(live, new Set(pairs.values()), { elements, rest: (one) => one })
}

function namedPairs(live: readonly Json[], wanted: readonly Json[]): Pairs {
  const places = new Map(live.map((entry, index) => [entry['name'], index]))
  return new Map(
    wanted.flatMap((entry, index) => {
      const at = places.get(entry['name'])
      return at === undefined ? [] : [[index, at] as const]
    }),
  )
}

function overlaidMap(live: Json, wanted: Json): Json {
  const keys = new Set([...Object.keys(live), ...Object.keys(wanted)])
  return Object.fromEntries([...keys].map((key) => [key, overlaid(fieldOf(live, key), fieldOf(wanted, key))]))
}

function isNamedList(list: unknown): list is readonly Json[] {
  if (!Array.isArray(list) || list.length === 0) return false
  const names = list.map((entry: unknown) => (isMap(entry) ? entry['name'] : undefined))
  return names.every((name) => typeof name === 'string') && new Set(names).size === names.length
}

/** The zero values of mergo: null, false, 0, '', empty lists and maps. */
export function isZero(value: unknown): boolean {
  if (value === undefined || value === null || value === false || value === 0 || value === 0n || value === '')
    return true
  if (Array.isArray(value)) return value.length === 0
  return isMap(value) && Object.values(value).every(isZero)
}

// In these fields servers normalize quantities: 1000m becomes 1, 0.5Gi becomes 512Mi. No API has a list of quantities.
const QUANTITIES: ReadonlySet<string> = new Set([
  'limits',
  'requests',
  'capacity',
  'hard',
  'sizeLimit',
  'averageValue',
  'overhead',
])
/** Fields with keys and texts of users, where a text that looks like a quantity is a text. */
const TEXTS: ReadonlySet<string> = new Set(['data', 'binaryData', 'stringData', 'labels', 'annotations'])
const QUANTITY = /^([+-]?(?:\d+\.?\d*|\.\d+))(m|k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei|[eE][+-]?\d+)?$/
const LONGEST_QUANTITY = 64
const SUFFIXES: Readonly<Record<string, number>> = {
  m: 1e-3,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  T: 1e12,
  P: 1e15,
  E: 1e18,
  Ki: 2 ** 10,
  Mi: 2 ** 20,
  Gi: 2 ** 30,
  Ti: 2 ** 40,
  Pi: 2 ** 50,
  Ei: 2 ** 60,
}

const isShort = (value: unknown): value is string => typeof value === 'string' && value.length <= LONGEST_QUANTITY

function sameQuantity(left: unknown, right: unknown): boolean {
  const [a, b] = [quantity(left), quantity(right)]
  return a !== undefined && b !== undefined && Math.abs(a - b) <= Math.abs(a) * 1e-12
}

function quantity(value: unknown): number | undefined {
  if (typeof value === 'number' || typeof value === 'bigint') return Number(value)
  const [, digits, suffix = ''] = isShort(value) ? (QUANTITY.exec(value) ?? []) : []
  if (digits === undefined) return undefined
  return /^[eE][+-]?\d/.test(suffix) ? Number(`${digits}${suffix}`) : Number(digits) * (SUFFIXES[suffix] ?? 1)
}
