// Landscaper's two merges of a manifest into a live object (Go's mergo). Pure. Source: spec/landscaper.md 4.2 "Merging
// is done client-side".
//
//   G1. Lists are not merged: a list replaces the live list. With known field owners, the elements of other field
//       managers stay, unlike in Landscaper.
//   G2. A zero or empty value never overrides an existing value. It is added if the live object lacks the field.
//   G3. Outside of lists no field is removed.

import { isMap, type Json } from './config-reader.ts'
import { type Owners, ownersOf, withOthersFields } from './others-fields.ts'
import { isZero } from './overlay.ts'

/** The owners are unknown: no element of a list is known to belong to another field manager. */
const NOBODY: Owners = { others: undefined, all: undefined }

/**
 * Returns `live` with the fields of `wanted` that are absent or empty in `live`. For the update strategy `merge`
 * (changes.ts).
 */
export function filledFields(live: Json, wanted: Json): Json {
  return merged(live, wanted, {
    owners: NOBODY,
    choose: (liveValue, wantedValue) => (isZero(liveValue) ? wantedValue : liveValue),
  })
}

/**
 * Returns `live` with the non-empty values of `wanted`. For the update strategy `mergeOverwrite`, and without `owners`
 * for `patchAfterDeployment` and `patchBeforeDelete` (changes.ts).
 */
export function overriddenFields(live: Json, wanted: Json, owners: Owners = NOBODY): Json {
  const choose = (liveValue: unknown, wantedValue: unknown, fieldOwners: Owners) => {
    if (isZero(wantedValue)) return liveValue
    return Array.isArray(wantedValue) ? withOthersFields(liveValue, wantedValue, fieldOwners) : wantedValue
  }
  return merged(live, wanted, { owners, choose })
}

interface Merge {
  readonly owners: Owners
  /** Chooses the value of a field that both objects have. Not called for two maps: these are merged. */
  readonly choose: (liveValue: unknown, wantedValue: unknown, owners: Owners) => unknown
}

function merged(live: Json, wanted: Json, { owners, choose }: Merge): Json {
  const keys = new Set([...Object.keys(live), ...Object.keys(wanted)])
  const entries = [...keys].map((key): [string, unknown] => {
    const [liveValue, wantedValue] = [live[key], wanted[key]]
    if (!Object.hasOwn(wanted, key)) return [key, liveValue]
    if (!Object.hasOwn(live, key)) return [key, wantedValue]
    const fieldOwners = ownersOf(owners, key)
    if (isMap(liveValue) && isMap(wantedValue))
      return [key, merged(liveValue, wantedValue, { owners: fieldOwners, choose })]
    return [key, choose(liveValue, wantedValue, fieldOwners)]
  })
  return Object.fromEntries(entries)
}
