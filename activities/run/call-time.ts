// How much one call of an activity takes on. Short calls have 30 s (kit/run/loop/temporal.ts), and a job may have thousands of items: what does not fit
// is left, and the caller calls again. A call that ran out of its time would be tried anew while its writes still go on.
//
//   L1. A call does at least one part, however slow that is: called until nothing is left, it comes to an end.
//   L2. Nothing of a part is left: what comes with a write (its export, its Event) is done with it.

import type { Deps } from '../deps.ts'
import { activitySignal } from '../kube/activity-signal.ts'

/** As many as a batch has at most (kube/write.ts). */
const PART = 100
// The last part may take as long again, on a machine that is short of everything.
const CALL_MS = 8000

export interface DoneInTime<Element, Result> {
  readonly results: readonly Result[]
  readonly left: readonly Element[]
}

/** Works through the elements in parts, as far as the time of a call goes. @throws as `work` does, and when the call is cancelled. */
export async function inTime<Element, Result>(
  { now }: Pick<Deps, 'now'>,
  elements: readonly Element[],
  work: (part: readonly Element[]) => Promise<Result>,
): Promise<DoneInTime<Element, Result>> {
  const begin = now().getTime()
  const results: Result[] = []
  let done = 0
  while (done < elements.length && (done === 0 || now().getTime() - begin < CALL_MS)) {
    activitySignal()?.throwIfAborted()
    results.push(await work(elements.slice(done, done + PART)))
    done += PART
  }
  return { results, left: elements.slice(done) }
}
