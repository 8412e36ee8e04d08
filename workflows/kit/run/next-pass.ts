// What the outcome of a pass means for the next one: when it is due, what is told of the faults, and how often in a row it went wrong.
// Pure. Settle makes a time of it: the journal's clock and its back-off, not the run's.

import type { Outcome } from '../plan/outcome.ts'
import type { SettleInput } from './settle.ts'

/** A fault with this code says that the pass looked at an older object than the activity found; the next pass looks again at once. */
export const CHANGED = 'Changed'

/** What settle is told of the next pass, whatever the run is. */
export type NextPass = Pick<SettleInput, 'againMs' | 'attempt' | 'fault'>

/**
 * @param attempts passes in a row that ended in a fault that may pass, this one included.
 */
export function nextPass(outcome: Outcome, attempts: number): NextPass {
  return { againMs: dueIn(outcome), attempt: isBackingOff(outcome) ? attempts : 0, fault: faultOf(outcome) }
}

/** The passes in a row that ended in a fault that may pass. One that met only `CHANGED` says nothing about it: it neither counts nor clears. */
export function attemptsAfter(outcome: Outcome, before: number): number {
  if (isBackingOff(outcome)) return before + 1
  return outcome.faults.some(({ retryable }) => retryable) ? before : 0
}

/** The outcome where faults do not end the job: each may be gone in a later pass. */
export function retryable(outcome: Outcome): Outcome {
  return { ...outcome, faults: outcome.faults.map((fault) => ({ ...fault, retryable: true })) }
}

function isBackingOff({ faults }: Outcome): boolean {
  return faults.some(({ retryable: mayPass, code }) => mayPass && code !== CHANGED)
}

/**
 * Delay until the next pass; undefined: when something changes. Final faults wish for none of their own, others for the largest number, which
 * settle bounds by its back-off.
 */
function dueIn({ faults, againMs }: Outcome): number | undefined {
  const passing = faults.filter(({ retryable: mayPass }) => mayPass)
  if (passing.length === 0) return againMs
  return passing.every(({ code }) => code === CHANGED) ? 0 : (againMs ?? Number.MAX_SAFE_INTEGER)
}

/** What people are told of the faults of a pass. */
function faultOf({ faults }: Outcome): NextPass['fault'] {
  const [first] = faults
  if (first === undefined) return undefined
  return {
    reason: first.code,
    message: faults
      .map(({ message }) => message)
      .join('; ')
      .slice(0, LONGEST_MESSAGE),
  }
}

// For people; a group of hundreds of items may fail in all of them.
const LONGEST_MESSAGE = 2000
