// The Shoots of items with `onDelete.skipUninstallIfClusterRemoved`: their deletion checks whether the Shoot exists (removed-clusters.ts).
// Source: spec/landscaper.md 1.13.
//
//   N1. Only Targets that a TargetSync created have Shoots that can be checked. The name of the Shoot comes from the server in their kubeconfig:
//       https://api.NAME. and so on. No other part of a kubeconfig leaves this module.
//   N2. A missing or malformed Target does not change an item's annotation: the item's deployer reports the problem.

import { CLUSTER_NAME_ANNOTATION, TARGET_SYNC_LABEL } from '../../../workflows/landscaper/contract.ts'
import type { DeployItemTemplate } from '../../../workflows/landscaper/execution/kind.ts'
import { targetKind } from '../../../workflows/landscaper/target/kind.ts'
import type { Subject } from '../../../workflows/kit/index.ts'
import { activitySignal } from '../../kube/activity-signal.ts'
import { retryableFailure, toApplicationFailure } from '../../kube/errors.ts'
import { inParallel } from '../../kube/in-parallel.ts'
import { readObject } from '../../kube/read-family.ts'
import type { LandscaperDeps } from '../deps.ts'
import { toDeployError } from '../deploy/run/deploy-errors.ts'
import { isObjectName } from '../deploy/target/target-config.ts'

type Annotations = Readonly<Record<string, string | undefined>>

/** The annotation of an item that names its cluster; a value of undefined removes the annotation. */
export type ClusterOf = (item: DeployItemTemplate) => Annotations

const PARALLEL_TARGETS = 5
const AS_IT_IS: Annotations = {}
const NONE: Annotations = { [CLUSTER_NAME_ANNOTATION]: undefined }

/** @throws retryable failures of the API server. */
export async function readClusters(
  deps: LandscaperDeps,
  { namespace }: Pick<Subject, 'namespace'>,
  items: readonly DeployItemTemplate[],
): Promise<ClusterOf> {
  const targets = [...new Set(items.flatMap((item) => targetAskedFor(item) ?? []))]
  const read = await inParallel(targets, PARALLEL_TARGETS, (name) => clusterOfTarget(deps, namespace, name))
  const byTarget = new Map(targets.map((name, index) => [name, read[index]]))
  return (item) => byTarget.get(targetAskedFor(item) ?? '') ?? NONE
}

function targetAskedFor({ onDelete, target }: DeployItemTemplate): string | undefined {
  return onDelete?.skipUninstallIfClusterRemoved === true ? target?.name : undefined
}

async function clusterOfTarget(deps: LandscaperDeps, namespace: string, name: string): Promise<Annotations> {
  if (!isObjectName(name)) return AS_IT_IS
  const target = await readObject(deps, targetKind, namespace, name).catch((error: unknown) => {
    throw toApplicationFailure(error)
  })
  if (target === undefined) return AS_IT_IS
  // N1
  if (target.metadata.labels?.[TARGET_SYNC_LABEL] !== 'ok') return NONE
  try {
    const server = await deps.landscaper.targets.serverOf(namespace, name, activitySignal())
    return { [CLUSTER_NAME_ANNOTATION]: shootAt(server ?? '') }
  } catch (error) {
    const { reason, message, isFinal } = toDeployError('FindCluster', error)
    // N2
    if (isFinal) return AS_IT_IS
    throw retryableFailure(reason, message)
  }
}

/** The Shoot whose API server has this address; undefined if it is no Shoot's. */
export function shootAt(server: string): string | undefined {
  const [, name] = /^https:\/\/api\.([a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)\./.exec(server) ?? []
  return name
}
