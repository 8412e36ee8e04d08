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
  readonly observedGeneration?: number
  readonly transitionTimes?: { readonly initTime?: string | null }
}

export function itemStatus({ object }: Pick<ItemJob, 'object'>): ItemStatus {
  return (object['status'] ?? {})
}

/** No deployer has taken the job up yet. */
export function isStarting(job: Pick<ItemJob, 'object'>): boolean {
  const { phase = '' } = itemStatus(job)
  return phase === '' || phase === 'Init' || phase === 'InitDelete' || FINAL_PHASES.includes(phase)
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
