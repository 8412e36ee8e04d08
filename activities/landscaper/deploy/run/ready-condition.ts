// The condition that says what a deployed item waits for: `kubectl describe` answers without a look at Temporal or the target.

import { setCondition } from '../../../../workflows/landscaper/contract.ts'
import type { Patch } from '../../../kube/write.ts'
import { type ItemJob, itemStatus } from './item-status.ts'

const TYPE = 'ResourcesReady'

/**
 * The `conditions` of the item's status.
 *
 * @param waitingFor the object that is not ready and what it lacks; undefined = all are ready, which is said only if something else was said before.
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

/** The `conditions` of an item that fails: it does not go on saying that all is ready. Nothing when it never said so. */
export function withdrawReady(job: ItemJob, message: string): Patch {
  const isSaid = itemStatus(job).conditions?.some(({ type, status }) => type === TYPE && status === 'True') === true
  return isSaid ? setReady(job, message) : {}
}

/** Whether people who read the condition are told something else than this. */
export function saysOtherwise(job: ItemJob, waitingFor: string): boolean {
  return itemStatus(job).conditions?.find(({ type }) => type === TYPE)?.message !== waitingFor
}
