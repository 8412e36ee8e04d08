// Reads and creates `status.providerStatus` of manifest items: the deployed objects and their Target. Pure. Source: spec/landscaper.md 4.2 step 5.
//
//   I1. Before an item applies objects, its status names them (`intendedStatus`). Discovery has not answered yet, so each entry has the namespace of the
//       manifest, even if the kind is cluster-scoped. `keysOf` (managed-resources.ts) matches entries with and without a namespace, and a removal finds the
//       object in spite of the namespace.

import type { DeployItem } from '../../../../workflows/landscaper/deploy-item/kind.ts'
import { isMap, type Json } from '../objects/config-reader.ts'
import { isAmong, type ManagedResource, managedResource, readManaged } from '../objects/managed-resources.ts'
import type { ProviderStatus } from '../run/deployer.ts'
import { targetOf } from '../objects/removal.ts'
import type { ManifestConfig } from './config.ts'

/** `apiVersion`: copied from the item's configuration. `targetName`: the Target to which the objects were deployed. */
export function providerStatus(
  apiVersion: string,
  managedResources: readonly ManagedResource[],
  targetName?: string,
): Json {
  return {
    apiVersion,
    kind: 'ProviderStatus',
    ...(targetName !== undefined && { target: { name: targetName } }),
    managedResources,
  }
}

interface PreviousDeployment {
  readonly managed: readonly ManagedResource[]
  /** The Target to which the objects were deployed. Undefined if there are no objects, or if the status names no Target: then it is the item's Target. */
  readonly targetName: string | undefined
}

/** Reads the objects of earlier jobs from the item's status. */
export function previousDeployment({ status }: DeployItem): PreviousDeployment {
  const previous = status?.providerStatus
  const managed = readManaged(previous)
  return { managed, targetName: managed.length === 0 ? undefined : readTargetName(previous) }
}

/** The Target in a status; undefined if the status has none. */
function readTargetName(status: unknown): string | undefined {
  const target = isMap(status) ? status['target'] : undefined
  const name: unknown = isMap(target) ? target['name'] : undefined
  return typeof name === 'string' && name !== '' ? name : undefined
}

/**
 * The provider status to write before the apply (I1): the entries of earlier jobs and the objects that the configuration adds. Undefined if it adds none,
 * or if objects on another Target must be removed first.
 */
export function intendedStatus(
  item: DeployItem,
  { apiVersion, manifests }: Pick<ManifestConfig, 'apiVersion' | 'manifests'>,
): ProviderStatus | undefined {
  const { managed, targetName } = previousDeployment(item)
  // One status names one Target: the objects on the other Target are removed before the status names objects on this one.
  if (targetName !== undefined && targetName !== targetOf(item)) return undefined
  const isKnown = isAmong(managed)
  const added = manifests.filter((manifest) => manifest.policy !== 'ignore' && !isKnown(manifest))
  if (added.length === 0) return undefined
  // I1: without discovery, the entry has neither a UID nor the scope of the kind.
  const all = [...managed, ...added.map((manifest) => managedResource(manifest, {}))]
  return providerStatus(apiVersion, all, targetOf(item))
}
