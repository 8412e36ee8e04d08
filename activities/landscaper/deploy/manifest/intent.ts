// What an item is about to have on its target, as its status remembers it before anything is sent. Pure.
//
//   I1. Until a cluster is asked, an object has the namespace that its manifest says, also where its kind is in none: comparisons bear that
//       (orphans.ts), and a removal finds it.

import type { DeployItem } from '../../../../workflows/landscaper/deploy-item/kind.ts'
import type { ProviderStatus } from '../run/deployer.ts'
import { targetOf } from '../objects/former-target.ts'
import { managedResource } from '../objects/manifest.ts'
import { isAmong } from '../objects/orphans.ts'
import type { ManifestConfig } from './config.ts'
import { providerStatus, rememberedBy } from './provider-status.ts'

/** What the status remembers and what the configuration adds to it; undefined when that is nothing. */
export function intended(
  item: DeployItem,
  { apiVersion, manifests }: Pick<ManifestConfig, 'apiVersion' | 'manifests'>,
): ProviderStatus | undefined {
  const { managed, targetName } = rememberedBy(item)
  // What is on another Target is taken away first, and is not to be mixed with what comes here.
  if (targetName !== undefined && targetName !== targetOf(item)) return undefined
  const isKnown = isAmong(managed)
  const added = manifests.filter((manifest) => manifest.policy !== 'ignore' && !isKnown(manifest))
  if (added.length === 0) return undefined
  const all = [...managed, ...added.map((manifest) => managedResource(manifest, {}))]
  return providerStatus(apiVersion, all, targetOf(item))
}
