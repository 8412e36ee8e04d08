// The result of a step of a cluster's pass, and both kinds of requeue. Source: seeds/foundationdb-operator-technical-design.txt; spec/foundationdb.md 2.0.

import { again, done, fail, later, type Outcome, retryLater } from '../../kit/index.ts'

/** `stop` ends the pass, `continue` lets the further steps run. Both request another pass. */
export interface Requeue {
  readonly kind: 'stop' | 'continue'
  readonly delayMs: number
  /** The reason, for users. It contains no number that differs from pass to pass, because each new text is written to the status. */
  readonly message: string
  /** The reason is an error: the delay grows with each pass. */
  readonly isError?: boolean
  /** Only a change of the object helps: no further pass is requested. */
  readonly isFinal?: true
  /** The reason of a Normal Event with the message, which is emitted once until the message changes. */
  readonly event?: string
  /** The reason is no problem of the cluster: the status does not show it. */
  readonly isSilent?: true
}

/** Undefined: the step has nothing more to do. */
export type StepResult = Requeue | undefined

/** For a reason that another event usually ends. Source: spec/foundationdb.md 2.14, 2.21. */
export const USUAL_DELAY_MS = 15_000
/** After an effect whose result the next pass observes. */
export const SHORT_DELAY_MS = 2000
/** After an effect that the next pass can observe at once. */
export const NO_DELAY_MS = 0

export function stopFor(message: string, delayMs: number = USUAL_DELAY_MS): Requeue {
  return { kind: 'stop', message, delayMs }
}

export function continueWith(message: string, delayMs: number = USUAL_DELAY_MS): Requeue {
  return { kind: 'continue', message, delayMs }
}

export function withEvent(event: string, requeue: Requeue): Requeue {
  return { ...requeue, event }
}

/** The step has nothing more to do, but the state of the database changes without an event. */
export function lookAgain(message: string, delayMs: number): Requeue {
  return { kind: 'continue', message, delayMs, isSilent: true }
}

export function failWith(message: string): Requeue {
  return { kind: 'stop', message, delayMs: SHORT_DELAY_MS, isError: true }
}

export function endWith(message: string): Requeue {
  return { kind: 'stop', message, delayMs: NO_DELAY_MS, isFinal: true }
}

/** @param step its name, the code of the fault. */
export function outcomeOf(step: string, result: StepResult): Outcome {
  if (result === undefined) return done
  if (result.isFinal === true) return fail(step, result.message)
  if (result.isError === true) return retryLater(step, result.message)
  return result.kind === 'stop' ? again(result.delayMs) : later(result.delayMs)
}
