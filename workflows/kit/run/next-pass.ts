// Computes the settle input for the next pass from the outcome of a pass: delay, reported fault and number of failed attempts. Pure; settle adds the
// journal's clock and back-off.
//
//   N1. After a retryable fault, the next pass is due after the smaller of the plan's requested delay and the back-off.
//   N2. After a retryable fault, a requested delay of less than `CALM_MS` counts as `CALM_MS`, so that a plan cannot loop without a pause.

import { type Outcome, wishedMs } from '../plan/outcome.ts'
import type { SettleInput } from './job/settle.ts'

/** Fault code: the pass observed an older version than the activity found. The next pass starts immediately. */
export const CHANGED = 'Changed'

/** Minimum delay after a fault, and after many immediate passes (N2; run-level.ts, V5). */
export const CALM_MS = 1000

/** The part of the settle input that describes the next pass, for both modes. */
export type NextPass = Pick<SettleInput, 'againMs' | 'attempt' | 'fault' | 'isOutside'>

/**
 * @param attempts number of passes in a row that ended in a retryable fault, including this one.
 * @param isOutside whether an event or a user requested the pass.
 */
export function nextPass(outcome: Outcome, attempts: number, isOutside = false): NextPass {
  const next = { againMs: dueIn(outcome), fault: faultOf(outcome) }
  if (!isBackingOff(outcome)) return { ...next, attempt: 0 }
  return { ...next, attempt: attempts, ...(isOutside && { isOutside }) }
}

/** The new number of passes in a row that ended in a retryable fault. A pass whose only fault is `CHANGED` keeps the number. */
export function attemptsAfter(outcome: Outcome, before: number): number {
  if (isBackingOff(outcome)) return before + 1
  return outcome.faults.some(({ retryable }) => retryable) ? before : 0
}

/** The outcome with all faults retryable, for passes whose faults do not end the job. */
export function retryable(outcome: Outcome): Outcome {
  return { ...outcome, faults: outcome.faults.map((fault) => ({ ...fault, retryable: true })) }
}

function isBackingOff({ faults }: Outcome): boolean {
  return faults.some(({ retryable: mayPass, code }) => mayPass && code !== CHANGED)
}

/**
 * Delay in milliseconds until the next pass; undefined waits for a change. After retryable faults the largest number stands for "as the back-off
 * says".
 */
function dueIn(outcome: Outcome): number | undefined {
  const wished = wishedMs(outcome)
  const passing = outcome.faults.filter(({ retryable: mayPass }) => mayPass)
  if (passing.length === 0) return wished
  if (passing.every(({ code }) => code === CHANGED)) return 0
  // N1, N2
  return wished === undefined ? Number.MAX_SAFE_INTEGER : Math.max(wished, CALM_MS)
}

/** The fault as reported in the journal and in Events. */
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

// A group of hundreds of items may fail in all of them.
const LONGEST_MESSAGE = 2000
