// In a deletion, and of orphans: items whose cluster was removed have nothing that could be uninstalled, and are let go. Source: spec/landscaper.md 2.8.
//
//   R1. Nobody asks about an item that is at work. One that could not be uninstalled is asked about again: its cluster may have gone meanwhile.
//   R2. An item of which nobody knows waits, and nobody else does; it brings another pass, like a fault that may pass.
//   R3. One that has failed already stays so where nobody knows: an interrupt ends the deletion whoever does not answer.

import type { DeployItemView } from '../../../activities/landscaper/deploy-item-view.ts'
import { FINALIZER } from '../contract.ts'
import { done, isIdle, joinOutcomes, type Outcome } from '../../kit/index.ts'
import { absorb, clusteredBatch, type ExecutionPass, leftOf } from './pass.ts'

export interface RemovedClusters {
  /** What could not be found out, or written. */
  readonly outcome: Outcome
  /** It is not to be uninstalled now: nobody knows of its cluster, or it is let go, and others hold it. */
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
