// What becomes of a pass whose settle the API server does not let through: the run gives its workflow task back, and the journal brings it again.
//
//   G1. Whatever the server says, or does not say, a settle holds a workflow task for a few quick tries, or a few seconds, and no longer.
//   G2. What was refused comes again by the back-off of its subject. A server that is away, busy, or knows nobody for the moment is asked again within
//       half a minute: its end is no event that wakes anybody.
//   G3. A settle that has held its task for long rests for it (rest.ts), so that those that hang take a small share of the worker's tasks.
//   G4. Nothing is lost: what was written is seen by the next pass, which comes to the rest anew.
//   G5. Where a try has closed the run's row and its answer was lost, no wake would come for the run any more: it asks until it knows.

import type { SettleInput, SettleResult } from '../../workflows/kit/index.ts'
import type { Deps } from '../deps.ts'
import { isRefusal, type KubeError, retryableFailure } from '../kube/errors.ts'
import { recordWarning } from '../kube/events.ts'
import { jobController } from './controllers.ts'
import { isLastTry } from './which-try.ts'
import { recordPass } from './record-pass.ts'
import { LONG_MS, restMs } from './rest.ts'

// G2: 5 ms, doubled so often, are 20 s.
const PASSING_ATTEMPTS = 13
// However long the server asks for.
const LONGEST_WAIT_MS = 300_000

/** @param tookMs of the try that failed. */
export function isGivenBack({ refusals = 0 }: SettleInput, { retryAfterMs = 0 }: KubeError, tookMs: number): boolean {
  return refusals > 0 || isLastTry() || tookMs > LONG_MS || retryAfterMs > LONG_MS
}

/** Says in the journal what the server has said, and when the next pass is due. */
export async function giveBack(
  deps: Deps,
  input: SettleInput,
  error: KubeError,
  tookMs: number,
): Promise<SettleResult> {
  const { workflowID, subject, jobID, attempt, refusals = 0 } = input
  const fault = { reason: error.reason, message: error.message }
  await deps.journal.flush(workflowID)
  const isPassing = !isRefusal(error)
  const tries = Math.max(attempt, refusals + 1)
  const job = await recordPass(deps, {
    ...input,
    ...{ change: undefined, fault, againMs: Number.MAX_SAFE_INTEGER },
    attempt: isPassing ? Math.min(tries, PASSING_ATTEMPTS) : tries,
    // G3
    leastMs: Math.max(restMs(tookMs, tries), Math.min(LONGEST_WAIT_MS, error.retryAfterMs ?? 0)),
  })
  // G5
  if (job === 'over')
    throw retryableFailure(error.reason, `the job is over, and how, the API server does not say: ${error.message}`)
  // What passes by itself is told when it has not.
  if (!isPassing || refusals > 0) {
    const { apiVersion } = jobController(deps, { workflowID }).target
    const report = { operation: 'Settle', ...fault }
    await recordWarning(deps, { ...subject, apiVersion }, jobID, report)
  }
  // What came meanwhile has a row in the journal still.
  deps.atWork.settles(workflowID)
  return { result: 'refused' }
}
