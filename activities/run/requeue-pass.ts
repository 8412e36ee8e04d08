// Handles a status update that the API server rejects or does not answer: the run completes its workflow task, and the journal schedules the next pass.
//
//   G1. A settle occupies a workflow task for a few quick retries or a few seconds, whether the server answers with an error or not at all.
//   G2. After a rejected update the next pass waits for the back-off of its subject. After an outage, an overload or a failed authentication of the server
//       the next pass starts within 30 s, because the end of an outage is not an event that wakes the run.
//   G3. After a slow settle the next pass is delayed further (slow-call-back-off.ts), so that slow settles occupy a small share of the workflow task slots.
//   G4. Nothing is lost: the next pass observes the completed writes and repeats the others.
//   G5. If an attempt has closed the run's row and its answer was lost, the journal would not schedule the run again. So the settle is retried until the
//       server answers.

import type { SettleInput, SettleResult } from '../../workflows/kit/index.ts'
import type { Deps } from '../deps.ts'
import { isRefusal, type KubeError, retryableFailure } from '../kube/errors.ts'
import { recordWarning } from '../kube/events.ts'
import { jobController } from './controllers.ts'
import { isLastAttempt } from './attempt.ts'
import { recordPass } from './record-pass.ts'
import { SLOW_CALL_MS, slowCallBackOffMs } from './slow-call-back-off.ts'

// G2: 5 ms doubled this often is 20 s.
const MAX_TRANSIENT_ATTEMPT = 13
// Limit for the Retry-After header of the server.
const MAX_RETRY_AFTER_MS = 300_000

/** Whether the settle stops and requeues the pass. @param tookMs duration of the failed attempt. */
export function shouldRequeue({ refusals = 0 }: SettleInput, { retryAfterMs = 0 }: KubeError, tookMs: number): boolean {
  return refusals > 0 || isLastAttempt() || tookMs > SLOW_CALL_MS || retryAfterMs > SLOW_CALL_MS
}

/** Records the server's error and the due time of the next pass in the journal. */
export async function requeuePass(
  deps: Deps,
  input: SettleInput,
  error: KubeError,
  tookMs: number,
): Promise<SettleResult> {
  const { workflowID, subject, jobID, attempt, refusals = 0 } = input
  const fault = { reason: error.reason, message: error.message }
  await deps.journal.flush(workflowID)
  const isTransient = !isRefusal(error)
  const tries = Math.max(attempt, refusals + 1)
  const job = await recordPass(deps, {
    ...input,
    change: undefined,
    fault,
    againMs: Number.MAX_SAFE_INTEGER,
    attempt: isTransient ? Math.min(tries, MAX_TRANSIENT_ATTEMPT) : tries,
    // G3
    leastMs: Math.max(slowCallBackOffMs(tookMs, tries), Math.min(MAX_RETRY_AFTER_MS, error.retryAfterMs ?? 0)),
  })
  deps.runMetrics?.passEnded(workflowID, { againMs: Number.MAX_SAFE_INTEGER, attempt: tries })
  // G5
  if (job === 'over')
    throw retryableFailure(
      error.reason,
      `the job has ended, but the API server did not return its result: ${error.message}`,
    )
  // An error that may end by itself is reported from the second settle on.
  if (!isTransient || refusals > 0) {
    const { apiVersion } = jobController(deps, { workflowID }).target
    const report = { operation: 'Settle', ...fault }
    await recordWarning(deps, { ...subject, apiVersion }, jobID, report)
  }
  // Wakes that arrived during the pass still have their rows in the journal.
  deps.inFlightRuns.passSettled(workflowID)
  return { result: 'refused' }
}
