// Reads and writes `status.providerStatus` of manifest items: the deployed objects and their Target. Pure. Source: spec/landscaper.md 4.2 step 5.

import type { DeployItem } from '../../../../workflows/landscaper/deploy-item/kind.ts'
import { isMap, type Json } from '../objects/config-reader.ts'
import { type ManagedResource, readManaged } from '../objects/managed-resources.ts'

/** `apiVersion` is that of the item's configuration, `targetName` the Target of the objects. */
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
