// Is what we want already there? A live object has more than was sent: defaults, status, what admission and other controllers add. Pure.
//
//   V1. `covers` and `overlaid` agree: what a live value covers changes nothing when it is laid over it.
//   V2. What others add beside - fields, and elements of lists whose elements have names - is no difference. Fields that were taken out of a
//       manifest are found by its hash instead (changes.ts).
//
// Source: spec/landscaper.md 4.2 "updateStrategy"; zero values as Go's omitempty leaves them out.

import { isMap, type Json } from './config-reader.ts'

/** Whether everything that `wanted` says is so in `live`, up to defaults, additions and the notation of quantities. */
export function covers(live: unknown, wanted: unknown, isQuantity = false): boolean {
  if (live === undefined || live === null) return isZero(wanted)
  if (isMap(wanted)) {
    if (!isMap(live)) return false
    return Object.entries(wanted).every(([key, value]) => covers(live[key], value, isQuantity || QUANTITIES.has(key)))
  }
  if (Array.isArray(wanted)) return Array.isArray(live) && coversList(live, wanted, isQuantity)
  // A null asks for nothing but the default, which is what a live field may be.
  return wanted === null || wanted === live || (isQuantity && sameQuantity(live, wanted))
}

function coversList(live: readonly unknown[], wanted: readonly unknown[], isQuantity: boolean): boolean {
  if (isNamedList(live) && isNamedList(wanted)) {
    const byName = new Map(live.map((entry) => [entry['name'], entry]))
    return wanted.every((entry) => byName.has(entry['name']) && covers(byName.get(entry['name']), entry, isQuantity))
  }
  return live.length === wanted.length && wanted.every((entry, index) => covers(live[index], entry, isQuantity))
}

/** `wanted` laid over `live`: maps key by key, lists of named elements name by name, all else as wanted. */
export function overlaid(live: unknown, wanted: unknown): unknown {
  if (wanted === undefined || wanted === null) return live
  if (isMap(live) && isMap(wanted)) return overlaidMap(live, wanted)
  return isNamedList(live) && isNamedList(wanted) ? overlaidList(live, wanted) : wanted
}

function overlaidList(live: readonly Json[], wanted: readonly Json[]): readonly unknown[] {
  const names = new Set(live.map((entry) => entry['name']))
  const wantedBy = new Map(wanted.map((entry) => [entry['name'], entry]))
  return [
    ...live.map((entry) => overlaid(entry, wantedBy.get(entry['name']))),
    ...wanted.filter((entry) => !names.has(entry['name'])),
  ]
}

function overlaidMap(live: Json, wanted: Json): Json {
  const keys = new Set([...Object.keys(live), ...Object.keys(wanted)])
  return Object.fromEntries([...keys].map((key) => [key, overlaid(live[key], wanted[key])]))
}

function isNamedList(list: unknown): list is readonly Json[] {
  if (!Array.isArray(list) || list.length === 0) return false
  const names = list.map((entry: unknown) => (isMap(entry) ? entry['name'] : undefined))
  return names.every((name) => typeof name === 'string') && new Set(names).size === names.length
}

/** What Go's `omitempty` leaves out, and mergo takes for nothing: null, false, 0, '', empty lists and maps. */
export function isZero(value: unknown): boolean {
  if (value === undefined || value === null || value === false || value === 0 || value === '') return true
  if (Array.isArray(value)) return value.length === 0
  return isMap(value) && Object.values(value).every(isZero)
}

// Below these fields servers write numbers in a notation of their own: 1000m as 1, 0.5Gi as 512Mi.
const QUANTITIES: ReadonlySet<string> = new Set([
  'limits',
  'requests',
  'capacity',
  'hard',
  'sizeLimit',
  'averageValue',
  'overhead',
])
const QUANTITY = /^([+-]?(?:\d+\.?\d*|\.\d+))(m|k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei|[eE][+-]?\d+)?$/
const LONGEST_QUANTITY = 64
const SUFFIXES: Readonly<Record<string, number>> = {
  ...{ m: 1e-3, k: 1e3, M: 1e6, G: 1e9, T: 1e12, P: 1e15, E: 1e18 },
  ...{ Ki: 2 ** 10, Mi: 2 ** 20, Gi: 2 ** 30, Ti: 2 ** 40, Pi: 2 ** 50, Ei: 2 ** 60 },
}

const isShort = (value: unknown): value is string => typeof value === 'string' && value.length <= LONGEST_QUANTITY

function sameQuantity(left: unknown, right: unknown): boolean {
  const [a, b] = [quantity(left), quantity(right)]
  return a !== undefined && b !== undefined && Math.abs(a - b) <= Math.abs(a) * 1e-12
}

function quantity(value: unknown): number | undefined {
  if (typeof value === 'number') return value
  const [, digits, suffix = ''] = isShort(value) ? (QUANTITY.exec(value) ?? []) : []
  if (digits === undefined) return undefined
  return /^[eE][+-]?\d/.test(suffix) ? Number(`${digits}${suffix}`) : Number(digits) * (SUFFIXES[suffix] ?? 1)
}
