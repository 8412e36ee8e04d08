// Starts the job of a hosted item. No write hands the job ID down: the job's first status write contains it. Until that write, the runner works on the
// item as if the trigger had been written. Source: spec/landscaper.md 2.8, docs/concepts/architecture.md "Hosted children".

import type { DeployItem } from '../../../../workflows/landscaper/deploy-item/kind.ts'
import { isIdle } from '../../../../workflows/kit/index.ts'
import type { Patch } from '../../../kube/merge-patch.ts'

/** The additional fields of the first status write of a job. */
export interface FirstWrite {
  /** The item's previous job; undefined: none. */
  readonly before: string | undefined
  readonly status: { readonly transitionTimes: Patch } & Patch
}

export interface ClaimedItem {
  /** The item, with the job in its status. */
  readonly object: DeployItem
  /** Undefined if the stored status has the job already. */
  readonly begins: FirstWrite | undefined
}

/**
 * Returns the item with the job of its host.
 *
 * @returns undefined while the item has another unfinished job.
 */
export function claimItem(object: DeployItem, jobID: string, now: Date): ClaimedItem | undefined {
  const { status = {} } = object
  if (status.jobID === jobID) return { object, begins: undefined }
  if (!isIdle(status)) return undefined
  const triggerTime = now.toISOString()
  const job = { jobID, jobIDGenerationTime: triggerTime }
  return {
    object: { ...object, status: { ...status, ...job, transitionTimes: { triggerTime } } },
    begins: {
      before: status.jobID,
      status: { ...job, transitionTimes: { triggerTime, initTime: null, waitTime: null, finishedTime: null } },
    },
  }
}

/** Adds the fields of a job's first status write to a patch. */
export function asFirstWrite({ status: beginning }: FirstWrite, patch: Patch): Patch {
  const status = (patch['status'] ?? {}) as { readonly transitionTimes?: Patch } & Patch
  const transitionTimes = { ...beginning.transitionTimes, ...status.transitionTimes }
  return { ...patch, status: { ...beginning, ...status, transitionTimes } }
}
