// The activities that end a pass (settle) and a run: the conditional status write, the run's row in the journal, the next due time.
// Source: docs/concepts/architecture.md "Writes, fields, errors".

import type {
  By,
  SettleActivities,
  SettledTarget,
  SettleInput,
  SettleResult,
  StatusChange,
  Subject,
} from '../../workflows/kit/index.ts'
import type { BeforeEnd, Deps } from '../deps.ts'
import { isRefusalReason, KubeError, retryableFailure, toApplicationFailure } from '../kube/errors.ts'
import { recordWarning } from '../kube/events.ts'
import { withDeadline, type RequestDeadline } from '../kube/client-with-deadline.ts'
import { type HostedJob, recordHosted } from '../journal/write/hosted-jobs.ts'
import { controllerOf, jobController } from './controllers.ts'
import { endRun } from './end-run.ts'
import { requeuePass, shouldRequeue } from './requeue-pass.ts'
import { recordPass } from './record-pass.ts'
import { NOTHING_WRITTEN, writeStatus } from './write-status.ts'

const WARNING_ATTEMPTS = 3
// Longer than the API server's default time-out of webhooks; the total is shorter than the time-out of short calls (kit/run/loop/temporal.ts).
const DEADLINES: RequestDeadline = { requestMs: 12_000, totalMs: 20_000 }

export const statusActivities = (
  processDeps: Deps,
  beforeEnd: BeforeEnd = {},
  deadlines: RequestDeadline = DEADLINES,
): SettleActivities => ({
  /**
   * Writes the status change of the pass, if it has one, and the next due time, if the pass requests one.
   *
   * @returns the current target, and whether wakes arrived since the pass started. `superseded`: another run has the job. `overtaken`: the job would end
   *   although the spec has changed since the pass; nothing was written. `refused`: the server rejected the status or did not answer (requeue-pass.ts); the
   *   journal has the error and the due time of the next pass.
   * @throws retryable failures of the API server in the first attempts, and failures of the journal.
   */
  async settle(input) {
    const startedAt = performance.now()
    const deps = { ...processDeps, kube: withDeadline(processDeps.kube, deadlines) }
    try {
      return await settle(deps, beforeEnd, input)
    } catch (error) {
      const tookMs = performance.now() - startedAt
      if (error instanceof KubeError && shouldRequeue(input, error, tookMs))
        return await requeuePass(processDeps, input, error, tookMs)
      // Never final: a pass that cannot settle cannot report its failure elsewhere.
      const failure = toApplicationFailure(error)
      throw failure.nonRetryable === true ? retryableFailure(failure.type ?? 'Unknown', failure.message) : failure
    }
  },

  /** Closes the run's row in the journal. A row that is already closed is not changed. */
  async endRun({ outcome, gone = [], ...run }) {
    const hosted = gone.map((child) => hostedJob(processDeps, { ...run, ...child }, undefined))
    await recordHosted(processDeps.db, hosted, processDeps.now())
    await endRun(processDeps, run, outcome)
    // Temporal repeats the activity when the journal fails.
    for (const child of gone) processDeps.runMetrics?.jobEnded(controllerOf(child.by), 'Deleted')
    processDeps.runMetrics?.jobEnded(controllerOf(run), outcome)
  },
})

async function settle(deps: Deps, beforeEnd: BeforeEnd, input: SettleInput): Promise<SettleResult> {
  const result = await writeStatuses(deps, beforeEnd, input)
  // Records all writes of the pass in one transaction.
  const flushed = deps.journal.flush(input.workflowID)
  if (result.result !== 'settled') {
    await flushed
    return result
  }
  const { children = [], change, againMs } = input
  const hosted = children.map((child) => hostedJob(deps, { ...input, ...child }, child.change))
  await Promise.all([flushed, recordHosted(deps.db, hosted, deps.now())])
  if (change !== undefined || againMs !== undefined) await recordSettled(deps, input)
  if (input.isUnseen === true) await reportRefusal(deps, input)
  const pending = deps.inFlightRuns.passSettled(input.workflowID)
  countPass(deps, input)
  if (change?.finished === true) deps.inFlightRuns.runEnded(input.workflowID)
  return { ...result, ...pending }
}

function countPass({ runMetrics }: Deps, { workflowID, againMs, attempt, change, children = [] }: SettleInput): void {
  runMetrics?.passEnded(workflowID, { againMs, attempt })
  for (const child of children)
    if (child.change.finished) runMetrics?.jobEnded(controllerOf(child.by), child.change.phase)
  if (change === undefined) return
  runMetrics?.phaseWritten(workflowID, change.phase)
  if (!change.finished) return
  runMetrics?.jobEnded(controllerOf({ workflowID }), change.phase)
  runMetrics?.runEnded(workflowID)
}

/** An observation that the server rejects cannot be reported in the status. It is reported as an Event after WARNING_ATTEMPTS attempts. */
async function reportRefusal(deps: Deps, { workflowID, subject, jobID, attempt, fault }: SettleInput): Promise<void> {
  if (fault === undefined || attempt < WARNING_ATTEMPTS || !isRefusalReason(fault.reason)) return
  const { apiVersion } = jobController(deps, { workflowID }).target
  await recordWarning(deps, { ...subject, apiVersion }, jobID, { operation: 'Observe', ...fault })
}

/** Writes the children's statuses, then the subject's, so that the subject never reports more than its children. */
async function writeStatuses(deps: Deps, beforeEnd: BeforeEnd, input: SettleInput): Promise<SettleResult> {
  const { children = [], workflowID, runID, pass, jobID, subject, tree = [subject.uid], change } = input
  const settled: Partial<SettledTarget>[] = []
  for (const child of children) {
    const answer = await writeStatus(deps, { ...child, jobID }, child.change)
    // The child has changed since the pass: the pass is repeated.
    if (answer.result !== 'settled') return { result: 'overtaken' }
    settled.push(answer.target)
  }
  const childTargets = children.length === 0 ? {} : { children: settled }
  if (change === undefined) return { ...NOTHING_WRITTEN, ...childTargets }
  const by = { workflowID, runID, pass, tree }
  if (change.finished) await beforeEnd[controllerOf(by)]?.({ by, subject, jobID, phase: change.phase, kube: deps.kube })
  const answer = await writeStatus(deps, { by, subject, jobID }, change)
  return answer.result === 'settled' ? { ...answer, ...childTargets } : answer
}

interface ChildSettle {
  readonly by: By
  readonly subject: Subject
  readonly jobID: string
}

/** @param change undefined: the child does not exist any more. */
function hostedJob(
  { cluster }: Deps,
  { by, subject, jobID }: ChildSettle,
  change: StatusChange | undefined,
): HostedJob {
  const { uid, namespace, name } = subject
  const { phase, finished, lastError } = change ?? { phase: 'Deleted', finished: true, lastError: undefined }
  return {
    workflow_id: by.workflowID,
    controller: controllerOf(by),
    cluster,
    uid,
    job_id: jobID,
    namespace,
    name,
    phase,
    is_over: finished,
    last_error: lastError ?? null,
  }
}

async function recordSettled(deps: Deps, input: SettleInput): Promise<void> {
  const row = await recordPass(deps, input)
  // The watch event of the last write usually closes the row. It does not if this process was suspended and the bridge recorded the event as foreign.
  if (input.change?.finished === true && row === 'open') await endRun(deps, input, input.change.phase)
}
