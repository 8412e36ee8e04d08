// Landscaper's two map merges (Go's mergo): lists are replaced as a whole, zero and empty values never override. Pure.
// Source: spec/landscaper.md 4.2 "Merging is done client-side".
//
//   G1. List elements of other field managers stay, unlike in Landscaper.

import { isMap, type Json } from './config-reader.ts'
import { type Owners, ownersOf, withOthersFields } from './others-fields.ts'
import { isZero } from './overlay.ts'

const NOBODY: Owners = { others: undefined, all: undefined }

/** Fills fields that are absent or empty in `live` from `wanted`. */
export function filledFields(live: Json, wanted: Json): Json {
  return merged(live, wanted, { owners: NOBODY, choose: (mine, theirs) => (isZero(mine) ? theirs : mine) })
}

/** Non-empty values of `wanted` replace the values in `live`; only list elements are removed. */
export function overriddenFields(live: Json, wanted: Json, owners: Owners = NOBODY): Json {
  const choose = (mine: unknown, theirs: unknown, of: Owners) =>
    isZero(theirs) ? mine : Array.isArray(theirs) ? withOthersFields(mine, theirs, of) : theirs
  return merged(live, wanted, { owners, choose })
}

interface Merge {
  readonly owners: Owners
  readonly choose: (mine: unknown, theirs: unknown, owners: Owners) => unknown
}

function merged(live: Json, wanted: Json, { owners, choose }: Merge): Json {
  const keys = new Set([...Object.keys(live), ...Object.keys(wanted)])
  const entries = [...keys].map((key): [string, unknown] => {
    const [mine, theirs] = [live[key], wanted[key]]
    if (!Object.hasOwn(wanted, key)) return [key, mine]
    if (!Object.hasOwn(live, key)) return [key, theirs]
    const below = ownersOf(owners, key)
    return [
      key,
      isMap(mine) && isMap(theirs) ? merged(mine, theirs, { owners: below, choose }) : choose(mine, theirs, below),
    ]
  })
  return Object.fromEntries(entries)
}
