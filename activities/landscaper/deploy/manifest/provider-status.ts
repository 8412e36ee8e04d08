// What the manifest deployer's items remember of their deployments in `status.providerStatus`. Pure. Source: spec/landscaper.md 4.2 step 5.

import type { DeployItem } from '../../../../workflows/landscaper/deploy-item/kind.ts'
import { isMap, type Json } from '../objects/config-reader.ts'
import { type ManagedResource, readManaged } from '../objects/managed-resources.ts'

/** `apiVersion` as the item's configuration has it, `targetName` the Target on which the objects are. */
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
  /** The Target on which they are; undefined: the item's. */
  readonly targetName: string | undefined
}

/** What the item's status says of earlier jobs. */
export function rememberedBy({ status }: DeployItem): Remembered {
  const remembered = status?.providerStatus
  const managed = readManaged(remembered)
  return { managed, targetName: managed.length === 0 ? undefined : readTargetName(remembered) }
}

/** The Target of a status; undefined in those that do not say. */
function readTargetName(status: unknown): string | undefined {
  const target = isMap(status) ? status['target'] : undefined
  const name: unknown = isMap(target) ? target['name'] : undefined
  return typeof name === 'string' && name !== '' ? name : undefined
}
