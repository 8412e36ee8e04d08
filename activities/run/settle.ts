// Settle: what a pass leaves behind. One conditional status write, the row of its run, the next due time.
// Source: docs/architecture.md "Writes, fields, errors".

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
import { hurried, type Patience } from '../kube/hurried-client.ts'
import { type HostedJob, recordHosted } from '../journal/write/hosted-jobs.ts'
import { controllerOf, jobController } from './controllers.ts'
import { endRun } from './end-run.ts'
import { giveBack, isGivenBack } from './give-back.ts'
import { recordPass } from './record-pass.ts'
import { settledAsIs, writeStatus } from './write-status.ts'

const LASTING_ATTEMPTS = 3
// Longer than the API server waits for a webhook by default; together less than the time-out of short calls (kit/run/loop/temporal.ts).
const PATIENCE: Patience = { requestMs: 12_000, totalMs: 20_000 }

export const statusActivities = (
  lasting: Deps,
  beforeEnd: BeforeEnd = {},
  patience: Patience = PATIENCE,
): SettleActivities => ({
  /**
   * Writes the pass's status change, if any, and the subject's next due time, if wanted.
   *
   * @returns the target as it is now, and whether anything has come for the run since the pass looked; `superseded` when the job is another
   *   run's; `overtaken` when the job would end over an edit that the pass has not seen: then nothing was written; `refused` when the server
   *   takes a status in none of a few tries, in no time, or once more: then the journal has what it said, and when the next pass is due.
   * @throws retryable failures of the API server, in the first few tries, and of the journal.
   */
  async settle(input) {
    const begunAt = performance.now()
    const deps = { ...lasting, kube: hurried(lasting.kube, patience) }
    try {
      return await settle(deps, beforeEnd, input)
    } catch (error) {
      const tookMs = performance.now() - begunAt
      if (error instanceof KubeError && isGivenBack(input, error, tookMs))
        return await giveBack(lasting, input, error, tookMs)
      // Never final: a pass that cannot settle has nowhere else to say so.
      const failure = toApplicationFailure(error)
      throw failure.nonRetryable === true ? retryableFailure(failure.type ?? 'Unknown', failure.message) : failure
    }
  },

  /** Closes the run's row in the journal; a row that a final write closed already stays as it is. */
  async endRun({ outcome, gone = [], ...run }) {
    const hosted = gone.map((child) => hostedJob(lasting, { ...run, ...child }, undefined))
    await recordHosted(lasting.db, hosted, lasting.now())
    await endRun(lasting, run, outcome)
  },
})

async function settle(deps: Deps, beforeEnd: BeforeEnd, input: SettleInput): Promise<SettleResult> {
  const result = await writeAllOf(deps, beforeEnd, input)
  // All that the pass has written, in one transaction.
  const flushed = deps.journal.flush(input.workflowID)
  if (result.result !== 'settled') {
    await flushed
    return result
  }
  const { children = [], change, againMs } = input
  const hosted = children.map((child) => hostedJob(deps, { ...input, ...child }, child.change))
  await Promise.all([flushed, recordHosted(deps.db, hosted, deps.now())])
  if (change !== undefined || againMs !== undefined) await recordSettled(deps, input)
  if (input.isUnseen === true) await tellRefusal(deps, input)
  const noted = deps.atWork.settles(input.workflowID)
  if (change?.finished === true) deps.atWork.ends(input.workflowID)
  return { ...result, ...noted }
}

/** What the server refuses where a pass looks stands in no status: told once it has lasted. */
async function tellRefusal(deps: Deps, { workflowID, subject, jobID, attempt, fault }: SettleInput): Promise<void> {
  if (fault === undefined || attempt < LASTING_ATTEMPTS || !isRefusalReason(fault.reason)) return
  const { apiVersion } = jobController(deps, { workflowID }).target
  await recordWarning(deps, { ...subject, apiVersion }, jobID, { operation: 'Observe', ...fault })
}

/** The children's statuses, then the subject's: it never says more than they do. */
async function writeAllOf(deps: Deps, beforeEnd: BeforeEnd, input: SettleInput): Promise<SettleResult> {
  const { children = [], workflowID, runID, pass, jobID, subject, tree = [subject.uid], change } = input
  const settled: Partial<SettledTarget>[] = []
  for (const child of children) {
    const answer = await writeStatus(deps, { ...child, jobID }, child.change)
    // The pass has not seen what is there now: it is made again.
    if (answer.result !== 'settled') return { result: 'overtaken' }
    settled.push(answer.target)
  }
  const told = children.length === 0 ? {} : { children: settled }
  if (change === undefined) return { ...settledAsIs, ...told }
  const by = { workflowID, runID, pass, tree }
  if (change.finished) await beforeEnd[controllerOf(by)]?.({ by, subject, jobID, phase: change.phase, kube: deps.kube })
  const answer = await writeStatus(deps, { by, subject, jobID }, change)
  return answer.result === 'settled' ? { ...answer, ...told } : answer
}

interface OfChild {
  readonly by: By
  readonly subject: Subject
  readonly jobID: string
}

/** @param change undefined: the child is gone. */
function hostedJob({ cluster }: Deps, { by, subject, jobID }: OfChild, change: StatusChange | undefined): HostedJob {
  const { uid, namespace, name } = subject
  const { phase, finished, lastError } = change ?? { phase: 'Deleted', finished: true, lastError: undefined }
  return {
    ...{ workflow_id: by.workflowID, controller: controllerOf(by), cluster, uid, job_id: jobID, namespace, name },
    ...{ phase, is_over: finished, last_error: lastError ?? null },
  }
}

async function recordSettled(deps: Deps, input: SettleInput): Promise<void> {
  const row = await recordPass(deps, input)
  // The event of the last write closes the row as a rule. Not when the bridge told it first, as anybody's, because this process was away.
  if (input.change?.finished === true && row === 'open') await endRun(deps, input, input.change.phase)
}
