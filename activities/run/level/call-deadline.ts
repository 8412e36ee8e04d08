// The deadline of an activity call. A time-out in a plan, or the call's own time-out, ends the wait of the workflow; after that the activity writes nothing.
//
//   C1. The worker measures the time as well, because Temporal's cancellation may arrive after the workflow has continued. Temporal's clock and the
//       machine's clock are not compared; they may differ by minutes.
//   C2. A request in flight at the deadline is aborted. The API server may have carried it out.

import { asyncLocalStorage } from '@temporalio/activity'

import { DEADLINE_EXCEEDED } from '../../../workflows/kit/index.ts'
import { finalFailure } from '../../kube/errors.ts'

/** The longest time of a timer in Node; longer deadlines are ignored. */
const MAX_TIMER_MS = 2 ** 31 - 1

/** Start of each call by the monotonic clock, in milliseconds. */
const FIRST_SEEN_MS = new WeakMap<object, number>()

/** Returns a signal that aborts when the workflow no longer waits for the call; undefined outside of Temporal. */
function deadlineSignal(): AbortSignal | undefined {
  const context = asyncLocalStorage.getStore()
  if (context === undefined) return undefined
  const { cancellationSignal, info } = context
  const { scheduledTimestampMs, currentAttemptScheduledTimestampMs, scheduleToCloseTimeoutMs } = info
  const seenAt = FIRST_SEEN_MS.get(context) ?? performance.now()
  FIRST_SEEN_MS.set(context, seenAt)
  const formerMs = currentAttemptScheduledTimestampMs - scheduledTimestampMs
  const leftMs = scheduleToCloseTimeoutMs - formerMs - (performance.now() - seenAt)
  if (!(scheduleToCloseTimeoutMs > 0) || leftMs > MAX_TIMER_MS) return cancellationSignal
  const over = leftMs > 0 ? AbortSignal.timeout(Math.ceil(leftMs)) : AbortSignal.abort()
  return AbortSignal.any([cancellationSignal, over])
}

/**
 * Runs `work` only while the workflow waits for the call.
 *
 * @throws `CutOff` (final), which the workflow treats as its time-out, if it does not wait any more.
 */
export async function withinCallDeadline<T>(work: (signal: AbortSignal | undefined) => Promise<T>): Promise<T> {
  const signal = deadlineSignal()
  const isOver = () => signal?.aborted === true
  if (isOver()) throw deadlineError()
  try {
    return await work(signal)
  } catch (error) {
    throw isOver() ? deadlineError() : error
  }
}

function deadlineError(): Error {
  return finalFailure(DEADLINE_EXCEEDED, 'the timeout of the call has passed')
}
