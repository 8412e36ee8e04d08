// The deployer's side of the contract: which status an item shows when its job starts, ends or fails.
// Source: spec/landscaper.md 2.9, 4.9.

import { type ErrorReport, type LastError, nextError } from '../../workflows/kit/index.ts'
import type { KubeObject } from '../kube/client.ts'
import type { Patch } from '../kube/write.ts'

export const FINAL_PHASES: readonly string[] = ['Succeeded', 'Failed', 'DeleteFailed']

/** One job of one item, at one moment. */
export interface ItemJob {
  readonly object: KubeObject
  readonly jobID: string
  readonly now: Date
}

export interface ItemStatus {
  readonly phase?: string
  readonly lastError?: LastError
  readonly lastErrors?: readonly LastError[]
  readonly firstError?: LastError
  readonly jobIDGenerationTime?: string
  readonly observedGeneration?: number
  readonly transitionTimes?: { readonly initTime?: string | null }
}

export function itemStatus({ object }: Pick<ItemJob, 'object'>): ItemStatus {
  return (object['status'] ?? {})
}

/** No deployer has taken the job up yet: the trigger clears the time, a job before this one may have left its final phase. */
export function isStarting(job: Pick<ItemJob, 'object'>): boolean {
  const { phase = '', transitionTimes } = itemStatus(job)
  return (transitionTimes?.initTime ?? undefined) === undefined || FINAL_PHASES.includes(phase)
}

/** The spec that was done before is the spec of this job: nothing but the times is new. Source: spec/landscaper.md 2.9. */
export function unchanged(job: ItemJob): Patch {
  const now = job.now.toISOString()
  const transitionTimes = { initTime: initTime(job), finishedTime: now }
  return { status: { jobIDFinished: job.jobID, lastReconcileTime: now, transitionTimes } }
}

const KEPT_ERRORS = 5

/** The job goes on although something failed; undefined when the item says so already. Source: spec/landscaper.md 2.9. */
export function failing(job: ItemJob, error: ErrorReport): Patch | undefined {
  const { phase, lastError: before, lastErrors = [], firstError } = itemStatus(job)
  const isNew = isStarting(job)
  if (!isNew && before?.reason === error.reason && before.message === error.message) return undefined
  const lastError = nextError(isNew ? undefined : before, error, job.now.toISOString())
  return {
    status: {
      ...common(job),
      phase: isNew ? 'Progressing' : phase,
      lastError,
      lastErrors: [...(isNew ? [] : lastErrors), lastError].slice(-KEPT_ERRORS),
      firstError: isNew ? lastError : (firstError ?? lastError),
    },
  }
}

/** The job has been picked up and is in `phase`. */
export function pickedUp(job: ItemJob, phase: string, fields: Patch = {}): Patch {
  return { status: { ...common(job), ...fields, phase, lastError: null, lastErrors: null, firstError: null } }
}

/** The job has ended; the phase and jobIDFinished come in one write. */
export function ended(job: ItemJob, phase: string, fields: Patch = {}, error?: ErrorReport): Patch {
  const { jobID, now } = job
  const lastError = error === undefined ? null : nextError(itemStatus(job).lastError, error, now.toISOString())
  return {
    status: {
      ...common(job),
      ...fields,
      phase,
      jobIDFinished: jobID,
      transitionTimes: { initTime: initTime(job), finishedTime: now.toISOString() },
      lastError,
      lastErrors: lastError === null ? null : [lastError],
      firstError: lastError,
    },
  }
}

function common(job: ItemJob): Patch {
  const now = job.now.toISOString()
  return {
    observedGeneration: job.object.metadata.generation ?? 0,
    lastReconcileTime: now,
    deployer: { identity: 'pawl', name: 'mock', version: '0.1.0' },
    transitionTimes: { initTime: initTime(job) },
  }
}

// The trigger clears the time, so one that is there is this job's.
function initTime(job: ItemJob): string {
  return itemStatus(job).transitionTimes?.initTime ?? job.now.toISOString()
}
