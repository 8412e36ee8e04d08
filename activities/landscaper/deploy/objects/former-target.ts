// Removes the objects of an item from its former Target after `spec.target` was changed. This happens first, because the new deployment replaces the
// list of deployed objects.
//
//   T1. Two Targets with the same server are one cluster: nothing is removed.

import type { DeployItem } from '../../../../workflows/landscaper/deploy-item/kind.ts'
import { DeployError, type ItemWork } from '../run/deployer.ts'
import { toRemovalError } from '../run/deploy-errors.ts'
import type { TargetCluster } from '../target/target-cluster.ts'
import { type RemovalInput, removalStep, type RemovalStep } from './removal.ts'

type FormerInput = Omit<RemovalInput, 'work'> & {
  readonly work: ItemWork
  /** The Target in the status; undefined: the item's. */
  readonly targetName: string | undefined
}

/** One step of the removal from the former Target; `here` if the Target is the item's cluster. @throws DeployError that names the Target */
export async function leaveFormerTarget({
  work,
  targetName,
  ...removal
}: FormerInput): Promise<RemovalStep | { readonly result: 'here' }> {
  if (targetName === undefined || targetName === targetOf(work.item)) return { result: 'here' }
  try {
    const target = await work.openTarget(targetName)
    if (isSameServer(target, work.target)) return { result: 'here' }
    const step = await removalStep({ ...removal, work: { ...work, target } })
    if (step.result === 'failed') throw step.error
    return step.result === 'waiting' ? { ...step, waitingFor: `target ${targetName}: ${step.waitingFor}` } : step
  } catch (error) {
    const { operation, reason, message, codes } = toRemovalError(removal.operation, error)
    const found = `objects of this item are on target ${targetName}, which spec.target named before, and cannot be removed there: ${message}`
    const expected = `expected that target; or annotate the item with ${WITHOUT_UNINSTALL}: "true" and delete it`
    throw new DeployError(operation, reason, `${found}; ${expected}`, codes)
  }
}

/** The Target that the item names. */
export function targetOf({ spec }: DeployItem): string | undefined {
  return spec.target?.name
}

const WITHOUT_UNINSTALL = 'landscaper.gardener.cloud/delete-without-uninstall'

function isSameServer(one: TargetCluster, other: TargetCluster): boolean {
  return one === other || one.kube.connection.server === other.kube.connection.server
}
