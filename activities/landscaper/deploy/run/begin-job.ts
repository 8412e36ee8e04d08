// The first moment of an item's job where its host runs it: nothing hands the job ID down, the first status write of the job brings it. Until then
// the runners see the item as the trigger would have left it. Source: spec/landscaper.md 2.8, docs/architecture.md "Hosted children".

import type { DeployItem } from '../../../../workflows/landscaper/deploy-item/kind.ts'
import { isIdle } from '../../../../workflows/kit/index.ts'
import type { Patch } from '../../../kube/write.ts'

/** What the first write of a job says beside what it is made for. */
export interface Beginning {
  /** The job that the item had when it was taken up; undefined: none. */
  readonly before: string | undefined
  readonly status: { readonly transitionTimes: Patch } & Patch
}

export interface TakenUp {
  /** With the job in its status. */
  readonly object: DeployItem
  /** Undefined: the status has the job already. */
  readonly begins: Beginning | undefined
}

/**
 * The item with the job of its host.
 *
 * @returns undefined while it runs another one.
 */
export function takeUp(object: DeployItem, jobID: string, now: Date): TakenUp | undefined {
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

/** A patch of the status as the first of its job. */
export function asFirst({ status: beginning }: Beginning, patch: Patch): Patch {
  const status = (patch['status'] ?? {}) as { readonly transitionTimes?: Patch } & Patch
  const transitionTimes = { ...beginning.transitionTimes, ...status.transitionTimes }
  return { ...patch, status: { ...beginning, ...status, transitionTimes } }
}
