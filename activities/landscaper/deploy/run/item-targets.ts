// The Targets that an item needs: held before the item deploys, released when the item no longer needs them. Source: docs/adr/0064.

import type { By } from '../../../../workflows/kit/index.ts'
import type { DeployItem } from '../../../../workflows/landscaper/deploy-item/kind.ts'
import { ownerOf } from '../../../kube/object-views.ts'
import type { LandscaperDeps } from '../../deps.ts'
import type { TargetObjects } from '../target/target-cluster.ts'
import { targetsOf } from '../target/target-users.ts'
import { DeployError } from './deployer.ts'
import { itemStatus } from './item-status.ts'

/**
 * Adds the finalizer to a Target and its Secret, because an item cannot be uninstalled without them.
 *
 * @throws DeployError `TargetBeingDeleted`, final: the item has deployed nothing yet, and must not start on a Target that is being deleted.
 */
export async function holdTarget(
  { landscaper }: Pick<LandscaperDeps, 'landscaper'>,
  by: By,
  item: DeployItem,
  objects: TargetObjects,
): Promise<TargetObjects> {
  const { name, namespace, deletionTimestamp } = objects.target.metadata
  const hasDeployed = itemStatus({ object: item }).providerStatus !== undefined
  if (deletionTimestamp === undefined || hasDeployed) return await landscaper.protection.hold(by, objects)
  const message = `target ${namespace}/${name}: it is being deleted; create it again when it is gone, or name another target`
  throw new DeployError('Reconcile', 'TargetBeingDeleted', message, ['ERR_CONFIGURATION_PROBLEM'])
}

/** Whether the item releases its Targets itself. An Execution that is being deleted releases them after its last item. */
export function releasesTargets({ objects }: Pick<LandscaperDeps, 'objects'>, item: DeployItem): boolean {
  if (targetsOf(item).size === 0) return false
  const owner = ownerOf(item)
  return owner === undefined || objects.get(owner.uid)?.metadata.deletionTimestamp === undefined
}

/** Whether the item no longer needs a Target that it needed before the write. */
export function hasLeftTarget(before: DeployItem, after: DeployItem): boolean {
  const needed = targetsOf(after)
  return [...targetsOf(before)].some((name) => !needed.has(name))
}
