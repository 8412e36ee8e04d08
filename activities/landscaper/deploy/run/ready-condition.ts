// The condition that names the objects for which a deployed item waits: `kubectl describe` shows it without Temporal or the target.

import { setCondition } from '../../../../workflows/landscaper/contract.ts'
import type { Patch } from '../../../kube/merge-patch.ts'
import { type ItemJob, itemStatus } from './item-status.ts'

const TYPE = 'ResourcesReady'

/**
 * The `conditions` of the item's status.
 *
 * @param waitingFor the object that is not ready and its missing state; undefined: all are ready, which is only written after a wait.
 */
export function setReady(job: ItemJob, waitingFor: string | undefined): Patch {
  const { conditions = [] } = itemStatus(job)
  const isSaid = conditions.some(({ type }) => type === TYPE)
  if (waitingFor === undefined && !isSaid) return {}
  const change =
    waitingFor === undefined
      ? { type: TYPE, status: 'True' as const, reason: 'ResourcesReady', message: 'all resources are ready' }
      : { type: TYPE, status: 'False' as const, reason: 'WaitingForResources', message: waitingFor }
  return { conditions: setCondition(conditions, change, job.now.toISOString()) }
}

/** The `conditions` of a failing item: withdraws an earlier True. Empty if the condition was not True. */
export function withdrawReady(job: ItemJob, message: string): Patch {
  const isSaid = itemStatus(job).conditions?.some(({ type, status }) => type === TYPE && status === 'True') === true
  return isSaid ? setReady(job, message) : {}
}

/** Whether the condition has a different message. */
export function saysOtherwise(job: ItemJob, waitingFor: string): boolean {
  return itemStatus(job).conditions?.find(({ type }) => type === TYPE)?.message !== waitingFor
}
