// Releases items whose cluster was removed, in deletions and for orphans: they have nothing to uninstall. Source: spec/landscaper.md 2.8.
//
//   R1. The cluster of a running item is not checked. After a failed uninstallation it is checked again, because it may have been
//       removed meanwhile.
//   R2. An item whose cluster's state is unknown waits, without blocking other items; like a transient fault, it schedules another
//       pass.
//   R3. An item that has failed stays failed while its cluster's state is unknown, so that an interrupt ends the deletion even if the
//       check gets no answer.

import type { DeployItemView } from '../../../activities/landscaper/deploy-item-view.ts'
import { FINALIZER } from '../contract.ts'
import { done, isIdle, joinOutcomes, type Outcome } from '../../kit/index.ts'
import { absorb, clusteredBatch, type ExecutionPass, leftOf } from './pass.ts'

export interface RemovedClusters {
  /** Faults of the check and of the writes. */
  readonly outcome: Outcome
  /** Whether the item must not be uninstalled now: its cluster's state is unknown, or it was released and other finalizers keep it. */
  readonly isHeld: (item: DeployItemView) => boolean
}

export async function releaseOfRemoved(
  pass: ExecutionPass,
  items: readonly DeployItemView[],
): Promise<RemovedClusters> {
  const there = new Set<string>()
  let outcome = done
  const isOurs = ({ finalizers }: DeployItemView) => finalizers.includes(FINALIZER)
  let asked: readonly DeployItemView[] = items.filter((item) => isConcerned(pass, item) && isOurs(item))
  while (asked.length > 0) {
    const result = await pass.act.releaseItemsOfRemovedClusters(clusteredBatch(pass, asked))
    outcome = joinOutcomes(outcome, absorb(pass, result))
    for (const name of result.there) there.add(name)
    asked = leftOf(asked, result)
  }
  const isHeld = (item: DeployItemView) => isConcerned(pass, item) && !(isOurs(item) && there.has(item.name))
  const waits = pass.state.deployItems.some((item) => isHeld(item) && item.jobIDFinished !== pass.jobID)
  return { outcome: waits ? outcome : done, isHeld }
}

function isConcerned({ background: tracks }: ExecutionPass, item: DeployItemView): boolean {
  return item.cluster !== undefined && item.deleting && isIdle(item) && !tracks.has(item.uid)
}
