// What the outcome of a pass means for the next one: when it is due, what is told of the faults, and how often in a row it went wrong.
// Pure. Settle makes a time of it: the journal's clock and its back-off, not the run's.
//
//   N1. Beside a fault that may pass, a wish bounds the back-off and does not replace it: the next pass is due after the smaller of the two.
//   N2. There a wish for less than `CALM_MS` counts as one for `CALM_MS`: "at once" beside a fault is no loop without a pause, and is late by so much
//       at most.

import { type Outcome, wishedMs } from '../plan/outcome.ts'
import type { SettleInput } from './job/settle.ts'

/** A fault with this code says that the pass looked at an older object than the activity found; the next pass looks again at once. */
export const CHANGED = 'Changed'

/** Passes that wish for the next one sooner than this do not all get it (N2; run-level.ts, V5). */
export const CALM_MS = 1000

/** What settle is told of the next pass, whatever the run is. */
export type NextPass = Pick<SettleInput, 'againMs' | 'attempt' | 'fault' | 'isOutside'>

/**
 * @param attempts passes in a row that ended in a fault that may pass, this one included.
 * @param isOutside whether something from outside asked for the pass.
 */
export function nextPass(outcome: Outcome, attempts: number, isOutside = false): NextPass {
  const next = { againMs: dueIn(outcome), fault: faultOf(outcome) }
  if (!isBackingOff(outcome)) return { ...next, attempt: 0 }
  return { ...next, attempt: attempts, ...(isOutside && { isOutside }) }
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
function dueIn(outcome: Outcome): number | undefined {
  const wished = wishedMs(outcome)
  const passing = outcome.faults.filter(({ retryable: mayPass }) => mayPass)
  if (passing.length === 0) return wished
  if (passing.every(({ code }) => code === CHANGED)) return 0
  // N1, N2
  return wished === undefined ? Number.MAX_SAFE_INTEGER : Math.max(wished, CALM_MS)
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
