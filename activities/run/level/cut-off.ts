// Whether a call of a pass is still waited for: a time-out in a plan ends the waiting, and what is not waited for writes nothing more.
//
//   C1. The worker looks at its own clock, too: what Temporal says of a time that is over may come later than what the run knows.
//   C2. A request that is under way when the time is over is given up. The server may have carried it out.

import { asyncLocalStorage } from '@temporalio/activity'

import { CUT_OFF } from '../../../workflows/kit/index.ts'
import { finalFailure } from '../../kube/errors.ts'

/** Aborted when the call at work is not waited for; undefined outside of Temporal. */
export function waitedFor(): AbortSignal | undefined {
  const context = asyncLocalStorage.getStore()
  if (context === undefined) return undefined
  const { scheduledTimestampMs, scheduleToCloseTimeoutMs } = context.info
  if (!(scheduleToCloseTimeoutMs > 0)) return context.cancellationSignal
  const leftMs = Math.max(0, scheduledTimestampMs + scheduleToCloseTimeoutMs - Date.now())
  return AbortSignal.any([context.cancellationSignal, AbortSignal.timeout(leftMs)])
}

/** @throws what the run takes for the end of its time, when nobody waits. */
export function refuseCutOff(signal: AbortSignal | undefined): void {
  if (signal?.aborted === true) throw finalFailure(CUT_OFF, 'the time of the step is over')
}
