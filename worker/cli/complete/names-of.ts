// Arguments and options whose values are names of objects, for shell completion.

import type { Argument, Option } from 'commander'

const KINDS = new WeakMap<Argument | Option, string>()

/** Lets shells complete the value with names of objects. @param kind its short name; undefined: no completion. */
export function completeNamesOf<Value extends Argument | Option>(value: Value, kind: string | undefined): Value {
  if (kind !== undefined) KINDS.set(value, kind)
  return value
}

export function namesOf(value: Argument | Option): string | undefined {
  return KINDS.get(value)
}
