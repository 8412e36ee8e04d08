// Settle: the one conditional status write of a pass, and the next due time. Source: docs/architecture.md "Writes, fields, errors".
//
//   S1. Idempotent by content: on a conflict the object is read again; if it is as intended, that is success; if the job is ours
//       and the phase still the observed one, it is written on the new version; else the run is superseded.
//       A job never ends over an edit of the spec that its pass has not seen: the pass is made again on what is there.
//   S2. Times are stamped here, because workflows have no clock.

import type {
  By,
  ErrorReport,
  JobInput,
  JobModeController,
  SettleActivities,
  SettledTarget,
  SettleInput,
  SettleResult,
  StatusChange,
  StatusFields,
} from '../../workflows/kit/index.ts'
import type { Deps } from '../deps.ts'
import { retryDelayMs, takeRetryToken } from '../journal/write/backoff.ts'
import { closeRun, recordJobPhase } from '../journal/write/jobs.ts'
import { upsertWakes } from '../journal/write/wakes.ts'
import { type KubeObject, resourcePath } from '../kube/client.ts'
import { isNotFound, retryableFailure, toApplicationFailure } from '../kube/errors.ts'
import { recordWarning } from '../kube/events.ts'
import { fieldManagerOf, type Patch, writeAll } from '../kube/write.ts'
import { controllerOf, jobController } from './controllers.ts'

export const statusActivities = (deps: Deps): SettleActivities => ({
  /**
   * Writes the pass's status change, if any, and the subject's next due time, if wanted. A run that `lingers` then waits here for a moment.
   *
   * @returns the target as it is now; `superseded` when the job is another run's; `overtaken` when the job would end over an edit that the
   *   pass has not seen: then nothing was written.
   * @throws retryable failures of the API server and the journal; `Invalid` (final) when the server refuses the status.
   */
  async settle(input) {
    try {
      const result = input.change === undefined ? settledAsIs : await writeStatus(deps, input, input.change)
      if (result.result !== 'settled') return result
      if (input.change !== undefined || input.againMs !== undefined) await recordSettled(deps, input)
      return input.lingers ? { ...result, woken: await deps.lingering.wait(input.workflowID) } : result
    } catch (error) {
      // Never final: a pass that cannot settle has nowhere to say so. The server's refusal stands in the log and in the journal's action.
      const failure = toApplicationFailure(error)
      throw failure.nonRetryable === true ? retryableFailure(failure.type ?? 'Unknown', failure.message) : failure
    }
  },

  /** Closes the run's row in the journal; a row that a final write closed already stays as it is. */
  async endRun({ outcome, ...run }) {
    await endRun(deps, run, outcome)
  },
})

async function recordSettled(deps: Deps, input: SettleInput): Promise<void> {
  const row = await recordPass(deps, input)
  // The event of the last write closes the row as a rule. Not when the bridge told it first, as anybody's, because this process was away.
  if (input.change?.finished === true && row === 'open') await endRun(deps, input, input.change.phase)
}

async function endRun(
  deps: Deps,
  { workflowID, runID, subject, jobID, cause }: Omit<By, 'pass'> & JobInput,
  outcome: string,
): Promise<void> {
  const { uid, namespace, name } = subject
  const now = deps.now()
  const run = { workflow_id: workflowID, run_id: runID, controller: controllerOf(workflowID), cluster: deps.cluster }
  await closeRun(deps.db, { ...run, uid, job_id: jobID, namespace, name, cause, started_at: now }, outcome, now)
}

const settledAsIs: SettleResult = { result: 'settled', target: {}, woken: false }

async function writeStatus(deps: Deps, input: SettleInput, change: StatusChange): Promise<SettleResult> {
  const { subject, jobID, pass, workflowID, runID } = input
  const controller = jobController(deps, input)
  const { target: watched, status: shape } = controller
  const before = shape.needsBefore(change) ? await read(deps, input) : undefined
  if (before === 'gone') return settledAsIs
  const now = deps.now().toISOString()
  const met = { edit: false }
  const [answer] = await writeAll(
    deps,
    { workflowID, runID, pass, step: 'settle', fieldManager: fieldManagerOf(input) },
    [
      {
        verb: 'patchStatus',
        watched,
        namespace: subject.namespace,
        name: subject.name,
        version: change.version,
        patch: statusPatch(controller, { change, jobID }, before, now),
        reapply(current) {
          const status = statusOf(current)
          if (current.metadata.uid !== subject.uid || status.jobID !== jobID) return 'superseded'
          if (isAsIntended(status, change, jobID)) return 'done'
          const isObserved = status.phase === change.observedPhase || status.phase === change.phase
          if (!isObserved || status.jobIDFinished === jobID) return 'superseded'
          met.edit = change.finished && specGeneration(current) > change.specGeneration
          if (met.edit) return 'superseded'
          return statusPatch(controller, { change, jobID }, current, now)
        },
      },
    ],
  )
  switch (answer?.result) {
    case 'ok':
      if (change.lastError !== undefined)
        await recordWarning(deps, { ...subject, apiVersion: watched.apiVersion }, jobID, change.lastError)
      return { result: 'settled', target: settledTarget(answer.object), woken: false }
    case 'superseded':
      return { result: met.edit ? 'overtaken' : 'superseded' }
    case 'failed':
      throw answer.error
    case 'gone':
    case undefined:
      return settledAsIs
  }
}

function specGeneration({ metadata: { generation = 0, deletionTimestamp } }: KubeObject): number {
  return generation - (deletionTimestamp === undefined ? 0 : 1)
}

function isAsIntended(status: CurrentStatus, change: StatusChange, jobID: string): boolean {
  const isSaid = change.conditions.length === 0 && Object.keys(change.fields).length === 0
  const isFinished = change.finished && status.jobIDFinished === jobID
  if (status.phase !== change.phase || (change.finished && !isFinished)) return false
  // The end of a job is one write, so what belongs to it is there too.
  return isFinished || (isSaid && status.lastError?.message === change.lastError?.message)
}

async function read(deps: Deps, input: SettleInput): Promise<KubeObject | 'gone'> {
  try {
    return await deps.kube.request<KubeObject>(
      'GET',
      resourcePath(jobController(deps, input).target, input.subject.namespace, input.subject.name),
    )
  } catch (error) {
    if (isNotFound(error)) return 'gone'
    throw error
  }
}

function statusPatch(
  { status }: JobModeController,
  { change, jobID }: { readonly change: StatusChange; readonly jobID: string },
  before: KubeObject | undefined,
  now: string,
): Patch {
  return {
    status: {
      ...change.fields,
      phase: change.phase,
      observedGeneration: change.observedGeneration,
      ...status.settled(change, before?.['status'] as StatusFields | undefined, now),
      ...(change.finished && { jobIDFinished: jobID }),
    },
  }
}

interface CurrentStatus {
  readonly phase?: string
  readonly jobID?: string
  readonly jobIDFinished?: string
  readonly observedGeneration?: number
  readonly lastError?: ErrorReport
}

function statusOf(object: KubeObject): CurrentStatus {
  return object['status'] ?? {}
}

function settledTarget(object: KubeObject): Partial<SettledTarget> {
  const { phase, jobIDFinished, observedGeneration, lastError } = statusOf(object)
  return {
    version: object.metadata.resourceVersion ?? '',
    phase,
    jobIDFinished,
    observedGeneration: observedGeneration ?? 0,
    lastError:
      lastError === undefined
        ? undefined
        : { operation: lastError.operation, reason: lastError.reason, message: lastError.message },
  }
}

// A date must stay one, whatever time-out somebody wrote; a look once a day does no harm.
const LONGEST_DELAY_MS = 86_400_000

/** Records in the journal what a pass met, and its next due time, when it wants one. @returns whether the run's row is closed. */
export async function recordPass(
  deps: Deps,
  {
    workflowID,
    runID,
    subject,
    jobID,
    change,
    againMs,
    attempt,
    fault,
  }: Omit<SettleInput, 'pass' | 'lingers' | 'cause'>,
): Promise<'open' | 'over'> {
  const now = deps.now()
  const lastError = change?.lastError ?? fault
  const job = await recordJobPhase(deps.db, { workflowID, runID, phase: change?.phase, lastError, attempt }, now)
  // What an ended job waited for went with its end, and would come back here.
  if (againMs === undefined || job === 'over') return job
  const controller = controllerOf(workflowID)
  await deps.db.transaction().execute(async (trx) => {
    const delayMs =
      attempt === 0 ? againMs : Math.min(againMs, Math.max(retryDelayMs(attempt), await takeRetryToken(trx, now)))
    await upsertWakes(
      trx,
      [
        {
          controller,
          uid: subject.uid,
          job_id: deps.modes[controller] === 'group' ? jobID : '',
          cluster: deps.cluster,
          namespace: subject.namespace,
          name: subject.name,
          seq: 0,
          due: new Date(now.getTime() + Math.min(delayMs, LONGEST_DELAY_MS)),
          foreign_event: true,
          may_start: true,
          writer: workflowID,
          cause: attempt === 0 ? 'due' : `retry ${attempt}`,
        },
      ],
      now,
    )
  })
  return job
}
