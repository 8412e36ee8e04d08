// The provider status that an item writes before it applies objects: it names the objects that will be on the target. Pure.
//
//   I1. Until discovery has answered, an object has the namespace of its manifest, even if its kind is cluster-scoped: comparisons accept that
//       (orphans.ts), and a removal finds the object.

import type { DeployItem } from '../../../../workflows/landscaper/deploy-item/kind.ts'
import type { ProviderStatus } from '../run/deployer.ts'
import { targetOf } from '../objects/former-target.ts'
import { managedResource } from '../objects/manifest.ts'
import { isAmong } from '../objects/orphans.ts'
import type { ManifestConfig } from './config.ts'
import { providerStatus, rememberedBy } from './provider-status.ts'

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
