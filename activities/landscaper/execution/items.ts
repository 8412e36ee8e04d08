// Converts the items of an Execution: decodes both forms of the list, and builds their DeployItems. Source: spec/landscaper.md 1.3, 1.13, 1.15, 2.7.

import { type Subject, writeJson } from '../../../workflows/kit/index.ts'
import {
  CACHE_HELM_CHARTS_ANNOTATION,
  CLUSTER_NAME_ANNOTATION,
  DELETE_WITHOUT_UNINSTALL_ANNOTATION,
  DEPENDS_ON_ANNOTATION,
  FINALIZER,
  ITEM_NAME_LABEL,
  MANAGED_BY_LABEL,
  RECONCILE_TIME_ANNOTATION,
  TARGET_SYNC_LABEL,
} from '../../../workflows/landscaper/contract.ts'
import { createHash } from 'node:crypto'
import { deployItemKind } from '../../../workflows/landscaper/deploy-item/kind.ts'
import { type DeployItemTemplate, type Execution, executionKind } from '../../../workflows/landscaper/execution/kind.ts'
import type { KubeObject } from '../../kube/client.ts'
import { withoutUndefined } from '../../kube/merge-patch.ts'
import { ownerReference } from '../../kube/owners.ts'
import type { TenantData } from '../bounded/tenant-data.ts'
import { withoutUninstall } from '../requests.ts'
import type { DecodedItems } from '../bounded/compressed-items.ts'
import { targetKind } from '../../../workflows/landscaper/target/kind.ts'
import { activitySignal } from '../../kube/activity-signal.ts'
import { retryableFailure, toApplicationFailure } from '../../kube/errors.ts'
import { inParallel } from '../../kube/in-parallel.ts'
import { readObject } from '../../kube/read-family.ts'
import type { LandscaperDeps } from '../deps.ts'
import { toDeployError } from '../deploy/run/deploy-errors.ts'
import { isObjectName } from '../deploy/target/target-config.ts'

const GENERATED_NAME_LIMIT = 63
const SUFFIX_LENGTH = 5
// For shortened names, only the hash distinguishes items.
const CUT_SUFFIX_LENGTH = 10
const TYPE_ANNOTATION = 'landscaper.gardener.cloud/deployer-type'
const TARGET_ANNOTATION = 'landscaper.gardener.cloud/deployer-target-name'
const NO_TARGET = '.noTargetName'

/** The items of `spec.deployItems`, or of `spec.deployItemsCompressed` (base64 of gzipped JSON), or the reason why they cannot be decoded. */
export async function decodeItems(
  { spec }: Pick<Execution, 'spec'>,
  data: Pick<TenantData, 'items'>,
): Promise<DecodedItems> {
  const packed = spec.deployItemsCompressed ?? ''
  return packed === '' ? { items: spec.deployItems ?? [] } : await data.items(packed)
}

/** The name of an item's DeployItem: the same for each attempt of a job, different for each job. Source: docs/concepts/architecture.md "Created names". */
export function deployItemName(execution: KubeObject, item: string, jobID: string): string {
  const hash = createHash('sha256')
    .update(writeJson([execution.metadata.uid, item, jobID]))
    .digest('hex')
  const full = `${execution.metadata.name}-${item}`
  const isWhole = full.length + 1 + SUFFIX_LENGTH <= GENERATED_NAME_LIMIT
  const suffix = hash.slice(0, isWhole ? SUFFIX_LENGTH : CUT_SUFFIX_LENGTH)
  // A label of a DNS name ends with a letter or digit; dots separate labels.
  const base = full.slice(0, GENERATED_NAME_LIMIT - suffix.length - 1).replace(/[.-]+$/, '')
  return `${base}-${suffix}`
}

/**
 * @param cluster the item's cluster annotation (items.ts). @returns the labels, annotations (undefined: removed) and spec of its DeployItem.
 */
export function desiredDeployItem(
  execution: Execution,
  item: DeployItemTemplate,
  cluster: Readonly<Record<string, string | undefined>> = {},
) {
  const { metadata } = execution
  const { context } = execution.spec
  const { type, config, target, timeout, updateOnChangeOnly, onDelete } = item
  return {
    labels: { ...item.labels, [MANAGED_BY_LABEL]: metadata.name, [ITEM_NAME_LABEL]: item.name },
    annotations: {
      [DEPENDS_ON_ANNOTATION]: (item.dependsOn ?? []).join(','),
      [TYPE_ANNOTATION]: type,
      [TARGET_ANNOTATION]: target?.name ?? NO_TARGET,
      // A withdrawn request must not stay on the items.
      [DELETE_WITHOUT_UNINSTALL_ANNOTATION]: withoutUninstall(execution) ? 'true' : undefined,
      [CACHE_HELM_CHARTS_ANNOTATION]: metadata.annotations?.[CACHE_HELM_CHARTS_ANNOTATION],
      ...cluster,
    },
    spec: {
      type,
      ...(context !== undefined && { context }),
      config,
      ...(target !== undefined && { target }),
      ...(timeout !== undefined && { timeout }),
      ...(updateOnChangeOnly !== undefined && { updateOnChangeOnly }),
      ...(onDelete !== undefined && { onDelete }),
    },
  }
}

/** The annotation of every write of an item's metadata or spec. Source: spec/landscaper.md 1.13. */
export function writtenAt(now: Date): Readonly<Record<string, string>> {
  return { [RECONCILE_TIME_ANNOTATION]: now.toISOString().replace(/\.\d+/, '') }
}

/** The job, the time and the clusters for which items are written. */
export interface Writing {
  readonly jobID: string
  readonly now: Date
  readonly clusterOf: ClusterOf
}

/** The complete DeployItem to create. */
export function newDeployItem(
  execution: Execution,
  item: DeployItemTemplate,
  { jobID, now, clusterOf }: Writing,
): KubeObject {
  const { metadata } = execution
  const { labels, annotations, spec } = desiredDeployItem(execution, item, clusterOf(item))
  return {
    apiVersion: deployItemKind.apiVersion,
    kind: deployItemKind.kind,
    metadata: {
      name: deployItemName(execution, item.name, jobID),
      namespace: metadata.namespace,
      labels,
      annotations: { ...withoutUndefined(annotations), ...writtenAt(now) },
      finalizers: [FINALIZER],
      ownerReferences: [ownerReference(executionKind, metadata)],
    },
    spec,
  }
}

// The Shoots of items with `onDelete.skipUninstallIfClusterRemoved`: their deletion checks whether the Shoot exists (removed-clusters.ts).
// Source: spec/landscaper.md 1.13.
//
//   N1. Only Targets that a TargetSync created have Shoots that can be checked. The name of the Shoot comes from the server in their kubeconfig:
//       https://api.NAME. and so on. No other part of a kubeconfig leaves this module.
//   N2. A missing or malformed Target does not change an item's annotation: the item's deployer reports the problem.

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
