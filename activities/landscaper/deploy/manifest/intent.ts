// What an item is about to have on its target, as its status remembers it before anything is sent. Pure.
//
//   I1. Until a cluster is asked, an object has the namespace that its manifest says, also where its kind is in none: comparisons bear that
//       (orphans.ts), and a removal finds it.

import type { KubeObject } from '../../../kube/client.ts'
import type { ProviderStatus } from '../run/deployer.ts'
import { type Manifest, readManifestConfig } from './config.ts'
import { isMap } from './config-reader.ts'
import { type ManagedResource, providerStatus, readManaged, readTargetName } from './managed-resources.ts'
import { isAmong } from './orphans.ts'

/**
 * What the status remembers and what the configuration adds to it; undefined when that is nothing.
 *
 * @throws DeployError with ERR_CONFIGURATION_PROBLEM
 */
export function intended(item: KubeObject): ProviderStatus | undefined {
  const { apiVersion, manifests } = readManifestConfig(item)
  const { managed, targetName } = rememberedBy(item)
  // What is on another Target is taken away first, and is not to be mixed with what comes here.
  if (targetName !== undefined && targetName !== targetOf(item)) return undefined
  const isKnown = isAmong(managed)
  const added = manifests.filter((manifest) => manifest.policy !== 'ignore' && !isKnown(manifest))
  if (added.length === 0) return undefined
  const all = [...managed, ...added.map((manifest) => managedResource(manifest, {}))]
  return providerStatus(apiVersion, all, targetOf(item))
}

interface Remembered {
  readonly managed: readonly ManagedResource[]
  /** The Target on which they are; undefined: the item's. */
  readonly targetName: string | undefined
}

/** What the item's status says of earlier jobs. */
export function rememberedBy({ status }: KubeObject): Remembered {
  const remembered: unknown = isMap(status) ? status['providerStatus'] : undefined
  const managed = readManaged(remembered)
  return { managed, targetName: managed.length === 0 ? undefined : readTargetName(remembered) }
}

/** The Target that the item names. */
export function targetOf({ spec }: KubeObject): string | undefined {
  const target: unknown = isMap(spec) ? spec['target'] : undefined
  const name: unknown = isMap(target) ? target['name'] : undefined
  return typeof name === 'string' ? name : undefined
}

interface Known {
  readonly uid?: string | undefined
  readonly isNamespaced?: boolean
  /** The server has forbidden to make it. */
  readonly isRefused?: boolean
}

/** A manifest's object as the status remembers it. */
export function managedResource(
  manifest: Manifest,
  { uid, isNamespaced = true, isRefused = false }: Known,
): ManagedResource {
  const { policy, object, annotateBeforeDelete, patchBeforeDelete } = manifest
  const { apiVersion, kind, metadata } = object
  const { name, namespace } = metadata
  return {
    policy,
    resource: {
      ...{ apiVersion, kind, name },
      ...(namespace !== undefined && isNamespaced && { namespace }),
      ...(uid !== undefined && { uid }),
    },
    ...(Object.keys(annotateBeforeDelete).length > 0 && { annotateBeforeDelete }),
    ...(patchBeforeDelete !== undefined && { patchBeforeDelete }),
    ...(isRefused && { refused: true }),
  }
}
