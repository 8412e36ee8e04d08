// Deadlines of steps (`timeout`) for local activities, and the time of a run. A timer cannot cancel a local activity:
// it fires after the workflow task, which waits for the activity. So each call gets the remaining time as its own
// time-out.
//
//   D1. A call that exceeds the deadline cancels the step's scope and all other calls in it.
//   D2. A call after the deadline is not sent.
//   D3. The tries of a call together take at most the time of one try within a workflow task; then the call fails and a later pass repeats it.
//   D4. The time of a run is the time of its history: equal in every replay, and constant between events.

import {
  ActivityFailure,
  ApplicationFailure,
  CancellationScope,
  CancelledFailure,
  TimeoutFailure,
} from '@temporalio/workflow'
import { DEADLINE_EXCEEDED } from '../level/level-activities.ts'

interface Deadline {
  readonly at: number
  readonly scope: CancellationScope
}

const DEADLINES = new WeakMap<CancellationScope, number>()

/** Returns a scope that is cancelled after `ms`. */
export function scopeWithDeadline(ms: number): CancellationScope {
  const scope = new CancellationScope({ timeout: ms, cancellable: true })
  DEADLINES.set(scope, runTime().getTime() + ms)
  return scope
}

/** Time-out options of a local activity. */
export interface TimeLeft {
  readonly scheduleToCloseTimeout?: number
}

/** Makes a call with the step's remaining time, and at most `mostMs` for all tries. */
export function withinDeadline<T>(mostMs: number, call: (left: TimeLeft) => Promise<T>): Promise<T> {
  const deadline = earliestDeadline()
  const leftMs = deadline === undefined ? Infinity : deadline.at - runTime().getTime()
  // D3
  if (deadline === undefined || leftMs > mostMs) return call({ scheduleToCloseTimeout: mostMs })
  return callUntil(deadline, leftMs, call)
}

async function callUntil<T>({ scope }: Deadline, leftMs: number, call: (left: TimeLeft) => Promise<T>): Promise<T> {
  // D2
  if (leftMs <= 0) scope.cancel()
  try {
    return await call({ scheduleToCloseTimeout: Math.max(1, leftMs) })
  } catch (error) {
    if (!hasExpired(error)) throw error
    // D1
    scope.cancel()
    throw new CancelledFailure('the timeout of the step has passed')
  }
}

function earliestDeadline(): Deadline | undefined {
  let found: Deadline | undefined
  for (
    let scope: CancellationScope | undefined = CancellationScope.current();
    scope !== undefined;
    scope = scope.parent
  ) {
    const at = DEADLINES.get(scope)
    if (at !== undefined && (found === undefined || at <= found.at)) found = { at, scope }
  }
  return found
}

// This time-out type is the step's deadline here.
function hasExpired(error: unknown): boolean {
  const cause = error instanceof ActivityFailure ? error.cause : error
  if (cause instanceof TimeoutFailure) return cause.timeoutType === 'SCHEDULE_TO_CLOSE'
  return cause instanceof ApplicationFailure && cause.type === DEADLINE_EXCEEDED
}

/* eslint-disable no-restricted-globals -- Elsewhere in workflows it would be the clock. */
export function runTime(): Date {
  return new Date()
}

/** @param ms since 1970. */
export function timeAt(ms: number): Date {
  return new Date(ms)
}
