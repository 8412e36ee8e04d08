// Limits how many elements one activity call processes. Short calls have a time-out of 30 s (kit/run/loop/temporal.ts), and a job may have thousands of
// items. The elements that do not fit are returned, and the caller calls again. Without the limit, Temporal would retry a call that timed out while its
// writes are still in progress.
//
//   L1. A call processes at least one batch, however slow it is: a caller that repeats the call until no element is left comes to an end.
//   L2. A batch is processed as a whole, with the exports and Events that belong to its writes.

import type { Deps } from '../deps.ts'
import { activitySignal } from '../kube/activity-signal.ts'

/** The largest batch of writes (kube/write.ts). */
const BATCH = 100
// The last batch may take as long again on an overloaded machine.
const TIME_LIMIT_MS = 8000

export interface PartialResult<Element, Result> {
  readonly results: readonly Result[]
  readonly left: readonly Element[]
}

/** Processes the elements in batches until TIME_LIMIT_MS has passed. @throws the errors of `work`, and when the call is cancelled. */
export async function processInTime<Element, Result>(
  { now }: Pick<Deps, 'now'>,
  elements: readonly Element[],
  work: (part: readonly Element[]) => Promise<Result>,
): Promise<PartialResult<Element, Result>> {
  const begin = now().getTime()
  const results: Result[] = []
  let done = 0
  while (done < elements.length && (done === 0 || now().getTime() - begin < TIME_LIMIT_MS)) {
    activitySignal()?.throwIfAborted()
    results.push(await work(elements.slice(done, done + BATCH)))
    done += BATCH
  }
  return { results, left: elements.slice(done) }
}
