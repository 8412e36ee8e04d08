// Determines when a CustomResourceDefinition can be used. Landscaper does not wait for it (spec/landscaper.md 4.2 step 3), so its custom resources,
// and the items that depend on them, fail at first and are retried after 5 s.

import type { KubeObject } from '../../../kube/client.ts'
import { inParallel } from '../../../kube/in-parallel.ts'
import { readObject } from '../target/read-object.ts'
import type { TargetCluster } from '../target/target-cluster.ts'
import { isMap } from './config-reader.ts'
import { isCrd } from './deletion-groups.ts'
import type { ResourceRef } from './managed-resources.ts'

const READS_AT_ONCE = 10

/** The missing state of a definition; undefined when it is established. */
export function unestablished(definition: KubeObject): string | undefined {
  const conditions = conditionsOf(definition)
  if (conditions.some(({ type, status }) => type === 'Established' && status === 'True')) return undefined
  const why = isRefused(definition) ? ' because its names are taken by another' : ''
  return `CustomResourceDefinition ${definition.metadata.name} is not established${why}`
}

/** The first definition that servers are about to establish. A definition whose names are taken will never be established, and is left out. */
export async function awaitedDefinition(
  target: TargetCluster,
  resources: readonly ResourceRef[],
  signal: AbortSignal,
): Promise<KubeObject | undefined> {
  const definitions = await inParallel(resources.filter(isCrd), READS_AT_ONCE, (one) => readObject(target, one, signal))
  return definitions.find((one) => one !== undefined && unestablished(one) !== undefined && !isRefused(one))
}

function isRefused(definition: KubeObject): boolean {
  return conditionsOf(definition).some(({ type, status }) => type === 'NamesAccepted' && status === 'False')
}

function conditionsOf({ status }: KubeObject) {
  const conditions: unknown = isMap(status) ? status['conditions'] : undefined
  return Array.isArray(conditions) ? conditions.filter(isMap) : []
}
