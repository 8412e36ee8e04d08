// The seam between steps and the engine that runs them: Temporal in production, a fake in unit tests.
// It is not an abstraction over Temporal: it holds only what combinators need.

import type { Outcome } from './outcome.ts'

export interface Runtime {
  /** Waits durably; only for short waits inside a pass, long ones are `again`. Rejects when the scope is cancelled. */
  sleep(ms: number): Promise<void>
  /** Runs `body` in a scope that is cancelled after `ms`; own expiry yields 'expired', an outer cancellation is rethrown. */
  withTimeout<T>(ms: number, body: () => Promise<T>): Promise<T | 'expired'>
  /** The fault of a failed activity or child as an outcome; undefined for cancellation, continue-as-new and bugs, which the caller rethrows. */
  toOutcome(error: unknown): Outcome | undefined
  /** Calls the body of an action, so that what it logs bears the action's name. Absent: it is just called. */
  inAction?<T>(name: string, body: () => T): T
}
