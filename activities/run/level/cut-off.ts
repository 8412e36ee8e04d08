// Whether a call of a pass is still waited for: a time-out in a plan, or the time that any call has, ends the waiting, and what is not waited for
// writes nothing more.
//
//   C1. The worker measures the time, too: what Temporal says of a time that is over may come later than what the run knows. Temporal's clock and the
//       machine's are not compared; they may differ by minutes.
//   C2. A request that is under way when the time is over is given up. The server may have carried it out.

import { asyncLocalStorage } from '@temporalio/activity'

import { CUT_OFF } from '../../../workflows/kit/index.ts'
import { finalFailure } from '../../kube/errors.ts'

/** A longer wait than a timer can have is none. */
const LONGEST_MS = 2 ** 31 - 1

/** When each call was first seen here, by a clock that nobody sets. */
const SEEN = new WeakMap<object, number>()

/** Aborted when the call at work is not waited for; undefined outside of Temporal. */
function waitedFor(): AbortSignal | undefined {
  const context = asyncLocalStorage.getStore()
  if (context === undefined) return undefined
  const { cancellationSignal, info } = context
  const { scheduledTimestampMs, currentAttemptScheduledTimestampMs, scheduleToCloseTimeoutMs } = info
  const seenAt = SEEN.get(context) ?? performance.now()
  SEEN.set(context, seenAt)
  const formerMs = currentAttemptScheduledTimestampMs - scheduledTimestampMs
  const leftMs = scheduleToCloseTimeoutMs - formerMs - (performance.now() - seenAt)
  if (!(scheduleToCloseTimeoutMs > 0) || leftMs > LONGEST_MS) return cancellationSignal
  const over = leftMs > 0 ? AbortSignal.timeout(Math.ceil(leftMs)) : AbortSignal.abort()
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
  return finalFailure(CUT_OFF, 'the time of the call is over')
}
