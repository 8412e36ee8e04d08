// Limits the size of an observation. Temporal rejects results of more than 2 MB, and the workflow would retry for ever. States that are too large become
// faults of the actions that use them; other actions and the deletion continue.
//
//   F1. The largest states are dropped first, until the rest fits. A state is dropped as a whole: a plan would take half a list for a complete one.
//   F2. If the target alone is too large, the whole pass fails.

import { writeJson } from '../../../workflows/kit/index.ts'
import type { Fault, Observed, Subject } from '../../../workflows/kit/index.ts'
import { finalFailure } from '../../kube/errors.ts'
import { nameOf } from './kinds.ts'

const MAX_BYTES = 1_500_000

/** @throws `StatesTooLarge` (final) for a target that is too large (F2). */
export function dropLargeStates(subject: Subject, observed: Observed): Observed {
  const bytes = bytesOf(observed)
  if (bytes <= MAX_BYTES) return observed
  const { states, unreadable = {}, ...others } = observed
  const rest = bytesOf({ ...others, states: {}, unreadable })
  if (rest > MAX_BYTES) throw tooLarge(`${placeOf(subject)} has ${kB(rest)}`, 'a smaller object')
  const sizes = Object.entries(states)
    .map(([state, value]) => ({ state, value, bytes: bytesOf(value) }))
    .sort((one, other) => other.bytes - one.bytes)
  const faults: Record<string, Fault> = { ...unreadable }
  let size = bytes
  for (const { state, value, bytes: own } of sizes) {
    if (size <= MAX_BYTES) break
    size -= own
    const { type: code, message } = stateTooLarge(subject, { state, value, bytes: own })
    faults[state] = { code: code ?? 'StatesTooLarge', message, retryable: false }
  }
  const left = Object.entries(states).filter(([state]) => faults[state] === undefined)
  return { ...others, states: Object.fromEntries(left), unreadable: faults }
}

/** @throws `StatesTooLarge` (final) for a state that is too large by itself. */
export function refuseTooLarge(subject: Subject, state: string, value: unknown): void {
  const bytes = value === undefined ? 0 : bytesOf(value)
  if (bytes > MAX_BYTES) throw stateTooLarge(subject, { state, value, bytes })
}

function stateTooLarge(
  subject: Subject,
  { state, value, bytes }: { readonly state: string; readonly value: unknown; readonly bytes: number },
) {
  const what = Array.isArray(value) ? `${value.length} objects of ${kB(bytes)} together` : `an object of ${kB(bytes)}`
  return tooLarge(
    `state ${state} of ${placeOf(subject)} has ${what}`,
    'narrower selectors, or fewer fields by pick or view',
  )
}

function tooLarge(found: string, expected: string) {
  return finalFailure(
    'StatesTooLarge',
    `${found}; the object and its states may have at most ${MAX_BYTES / 1000} kB together; use ${expected}`,
  )
}

function placeOf({ kind, namespace, name }: Subject): string {
  return nameOf(kind, { namespace, name })
}

/** Size as JSON in UTF-8, as Temporal transports it. */
function bytesOf(value: unknown): number {
  return Buffer.byteLength(writeJson(value))
}

function kB(bytes: number): string {
  return `${Math.ceil(bytes / 1000)} kB`
}
