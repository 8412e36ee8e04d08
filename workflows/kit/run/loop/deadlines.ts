// Times within which a step has to end (`timeout`), for calls that run inside the workflow task. A timer of the server cannot end those: it starts when
// the task has ended, and the task waits for them. So each call is given the time that is left, and the worker ends it.
//
//   D1. What has expired is the scope: a call that ran out of its time cancels it, and with it everything else in it.
//   D2. A call that is made when the time is over is not sent.
//   D3. A call holds its task with all its tries for no longer than one try may take; then it has failed, and the pass comes again.
// MERGED The time of a run, in the sandbox: that of its history, the same in every replay. It goes on when something has come, and not between.

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

/** A scope that is cancelled after `ms`. */
export function scopeWithDeadline(ms: number): CancellationScope {
  const scope = new CancellationScope({ timeout: ms, cancellable: true })
  DEADLINES.set(scope, runTime().getTime() + ms)
  return scope
}

/** What a call that runs inside the workflow task may be told. */
export interface TimeLeft {
  readonly scheduleToCloseTimeout?: number
}

/** Makes a call within the time that its step has left, and with all its tries within `mostMs`. */
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
    throw new CancelledFailure('the time of the step is over')
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

// Here the limit of this type is the step's.
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
