// Whether a call of a pass is still waited for: a time-out in a plan ends the waiting, and what is not waited for writes nothing more.
//
//   C1. The worker looks at its own clock, too: what Temporal says of a time that is over may come later than what the run knows.
//   C2. A request that is under way when the time is over is given up. The server may have carried it out.

import { asyncLocalStorage } from '@temporalio/activity'

import { CUT_OFF } from '../../../workflows/kit/index.ts'
import { finalFailure } from '../../kube/errors.ts'

/** A longer wait than a timer can have is none. */
const LONGEST_MS = 2 ** 31 - 1

/** Aborted when the call at work is not waited for; undefined outside of Temporal. */
function waitedFor(): AbortSignal | undefined {
  const context = asyncLocalStorage.getStore()
  if (context === undefined) return undefined
  const { cancellationSignal, info } = context
  const { scheduledTimestampMs, scheduleToCloseTimeoutMs } = info
  const leftMs = scheduledTimestampMs + scheduleToCloseTimeoutMs - Date.now()
  if (!(scheduleToCloseTimeoutMs > 0) || leftMs > LONGEST_MS) return cancellationSignal
  const over = leftMs > 0 ? AbortSignal.timeout(leftMs) : AbortSignal.abort()
  return AbortSignal.any([cancellationSignal, over])
}

/**
 * Does what is done only for somebody who waits.
 *
 * @throws what the run takes for the end of its time, when nobody waits (any more).
 */
export async function whileWaitedFor<T>(work: (signal: AbortSignal | undefined) => Promise<T>): Promise<T> {
  const signal = waitedFor()
  const isOver = () => signal?.aborted === true
  if (isOver()) throw cutOff()
  try {
    return await work(signal)
  } catch (error) {
    throw isOver() ? cutOff() : error
  }
}

function cutOff(): Error {
  return finalFailure(CUT_OFF, 'the time of the step is over')
}
