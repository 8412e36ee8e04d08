// Reads and writes `status.providerStatus` of manifest items: the deployed objects and their Target. Pure. Source: spec/landscaper.md 4.2 step 5.

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

interface Remembered {
  readonly managed: readonly ManagedResource[]
  /** The Target of the objects; undefined if it is the item's. */
  readonly targetName: string | undefined
}

/** Reads the objects of earlier jobs from the item's status. */
export function rememberedBy({ status }: DeployItem): Remembered {
  const remembered = status?.providerStatus
  const managed = readManaged(remembered)
  return { managed, targetName: managed.length === 0 ? undefined : readTargetName(remembered) }
}

/** The Target in a status; undefined if the status has none. */
function readTargetName(status: unknown): string | undefined {
  const target = isMap(status) ? status['target'] : undefined
  const name: unknown = isMap(target) ? target['name'] : undefined
  return typeof name === 'string' && name !== '' ? name : undefined
}

// The provider status that an item writes before it applies objects: it names the objects that will be on the target. Pure.
//
//   I1. Until discovery has answered, an object has the namespace of its manifest, even if its kind is cluster-scoped: comparisons accept that
//       (orphans.ts), and a removal finds the object.

/** The provider status with the objects that the configuration adds; undefined if it adds none. */
export function intended(
  item: DeployItem,
  { apiVersion, manifests }: Pick<ManifestConfig, 'apiVersion' | 'manifests'>,
): ProviderStatus | undefined {
  const { managed, targetName } = rememberedBy(item)
  // Objects on another Target are removed first, and must not be mixed with objects on this one.
  if (targetName !== undefined && targetName !== targetOf(item)) return undefined
  const isKnown = isAmong(managed)
  const added = manifests.filter((manifest) => manifest.policy !== 'ignore' && !isKnown(manifest))
  if (added.length === 0) return undefined
  const all = [...managed, ...added.map((manifest) => managedResource(manifest, {}))]
  return providerStatus(apiVersion, all, targetOf(item))
}
