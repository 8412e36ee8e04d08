// The two map merges of the original (Go's mergo): lists are replaced as a whole, zero and empty values never override. Pure.
// Source: spec/landscaper.md 4.2 "Merging is done client-side".

import { isMap, type Json } from './config-reader.ts'
import { isZero } from './overlay.ts'

/** What `live` lacks or has empty is filled from `wanted`. */
export function filled(live: Json, wanted: Json): Json {
  return merged(live, wanted, (mine, theirs) => (isZero(mine) ? theirs : mine))
}

/** What `wanted` says, unless it is empty, replaces what is in `live`; nothing is removed. */
export function overridden(live: Json, wanted: Json): Json {
  return merged(live, wanted, (mine, theirs) => (isZero(theirs) ? mine : theirs))
}

function merged(live: Json, wanted: Json, choose: (mine: unknown, theirs: unknown) => unknown): Json {
  const keys = new Set([...Object.keys(live), ...Object.keys(wanted)])
  const entries = [...keys].map((key): [string, unknown] => {
    const [mine, theirs] = [live[key], wanted[key]]
    if (!Object.hasOwn(wanted, key)) return [key, mine]
    if (!Object.hasOwn(live, key)) return [key, theirs]
    return [key, isMap(mine) && isMap(theirs) ? merged(mine, theirs, choose) : choose(mine, theirs)]
  })
  return Object.fromEntries(entries)
}
