// The Target of an item. Source: spec/landscaper.md 1.4; decisions on appendix B: references never leave the namespace.

import type { DeployItem } from '../../../../workflows/landscaper/deploy-item/kind.ts'
import { DeployError } from './deployer.ts'
import type { By } from '../../../../workflows/kit/index.ts'
import { ownerOf } from '../../../kube/object-views.ts'
import type { LandscaperDeps } from '../../deps.ts'
import type { TargetObjects } from '../target/target-cluster.ts'
import { targetsOf } from '../target/target-users.ts'
import { itemStatus } from './item-status.ts'

/** Its name, in the item's namespace. @throws DeployError `NoTargetFound`, `InvalidTarget`; both final. */
export function targetNameOf({ metadata, spec }: DeployItem): string {
  const { target } = spec
  const codes = ['ERR_CONFIGURATION_PROBLEM']
  if (target === undefined || target.name === '') {
    const field = target === undefined ? 'spec.target' : 'spec.target.name'
    const message = `${field}: found nothing; expected a Target of namespace "${metadata.namespace}"`
    throw new DeployError('Reconcile', 'NoTargetFound', message, codes)
  }
  if (target.namespace === undefined || target.namespace === metadata.namespace) return target.name
  const message = `spec.target.namespace: found "${target.namespace}"; expected "${metadata.namespace}", the namespace of the item`
  throw new DeployError('Reconcile', 'InvalidTarget', message, codes)
}

// The Targets that an item needs: held before the item deploys, released when the item no longer needs them. Source: docs/adr/0064.

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
  if (deletionTimestamp === undefined || hasDeployed) return await landscaper.protection.addFinalizers(by, objects)
  const message = `spec.target.name: Target "${namespace}/${name}" is being deleted; create it again after its deletion, or name another Target`
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
