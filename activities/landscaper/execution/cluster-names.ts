// The Shoots that items with `onDelete.skipUninstallIfClusterRemoved` are deployed to: what their deletion will ask about (removed-clusters.ts).
// Source: spec/landscaper.md 1.13.
//
//   N1. Only Targets that a TargetSync has made lead to Shoots that can be asked about. The name is the one that the server in their kubeconfig has:
//       https://api.NAME. and so on. Nothing of a kubeconfig but this name leaves.
//   N2. A Target that is not there, or is malformed, changes nothing of what an item says: its deployer tells.

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

/** The part of an item's annotations that names its cluster; a value of undefined: none shall be there. */
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

/** The Shoot whose API server has this address; undefined: that of none. */
export function shootAt(server: string): string | undefined {
  const [, name] = /^https:\/\/api\.([a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)\./.exec(server) ?? []
  return name
}
