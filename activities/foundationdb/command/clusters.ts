// Reads and changes FoundationDBClusters with the user's own rights.

import type { FoundationDBCluster } from '../../../workflows/foundationdb/cluster/kind.ts'
import { clusterKind } from '../../../workflows/foundationdb/cluster/kind.ts'
import { joinNames } from '../../../workflows/kit/index.ts'
import { type CommandStart, CommandUsageError } from '../../command.ts'
import type { KubeClient } from '../../kube/client.ts'
import { isNotFound, KubeError } from '../../kube/kube-error.ts'
import { readPages } from '../../kube/pages.ts'
import { resourcePath } from '../../kube/resource-path.ts'

export type Kube = Pick<KubeClient, 'request'>

/** Option of the commands that use one cluster. */
export const CLUSTER_OPTION = 'fdb-cluster'
const MOST_ATTEMPTS = 5
const MOST_NAMES = 20

/** The cluster in messages. */
export function titleOf({ metadata: { namespace, name } }: FoundationDBCluster): string {
  return clusterTitle(namespace, name)
}

function clusterTitle(namespace: string, name: string): string {
  return `FoundationDBCluster "${namespace}/${name}"`
}

/** @throws an Error if the cluster does not exist, and errors of the API server. */
export async function readCluster(kube: Kube, namespace: string, name: string): Promise<FoundationDBCluster> {
  try {
    return await kube.request<FoundationDBCluster>('GET', resourcePath(clusterKind, namespace, name))
  } catch (error) {
    if (!isNotFound(error)) throw error
    throw new Error(missingText(error, clusterTitle(namespace, name)), { cause: error })
  }
}

/** All clusters of the namespace. @throws like `readCluster`. */
export async function listClusters(kube: Kube, namespace: string): Promise<readonly FoundationDBCluster[]> {
  const found: FoundationDBCluster[] = []
  try {
    for await (const { items } of readPages(kube, resourcePath(clusterKind, namespace), { limit: undefined }))
      // The API server validates the kind.
      found.push(...(items as unknown as readonly FoundationDBCluster[]))
  } catch (error) {
    if (!isNotFound(error)) throw error
    throw new Error(missingText(error, 'the list of FoundationDBClusters'), { cause: error })
  }
  return found
}

/** The server names no object if it does not have the kind. */
function missingText(error: unknown, title: string): string {
  return error instanceof KubeError && error.missing === undefined
    ? `${title}: the cluster has no kind FoundationDBCluster; apply its CRD from deploy/crds/foundationdb`
    : `${title} does not exist; check its name and -n`
}

/**
 * The cluster with the name, or the only one of the namespace.
 *
 * @throws CommandUsageError without a name, unless the namespace has one cluster; others like `readCluster`.
 */
export async function chosenCluster(
  { kube, namespace }: Pick<CommandStart, 'kube' | 'namespace'>,
  name: string | true | undefined,
  argument = '--fdb-cluster',
): Promise<FoundationDBCluster> {
  if (typeof name === 'string') return await readCluster(kube, namespace, name)
  const found = await listClusters(kube, namespace)
  const [first] = found
  if (first === undefined) throw new Error(`namespace "${namespace}" has no FoundationDBCluster; check -n`)
  if (found.length === 1) return first
  const names = joinNames(
    found.map(({ metadata }) => metadata.name),
    MOST_NAMES,
  )
  throw new CommandUsageError(
    `${argument} is missing: namespace "${namespace}" has ${found.length} FoundationDBClusters; expected one of ${names}`,
  )
}

/**
 * Changes fields of the newest version of the cluster; other fields stay.
 *
 * @param change returns the changed fields; undefined: nothing to change. It is called again if another client changed the cluster meanwhile.
 * @throws errors of the API server; 409 after 5 conflicts.
 */
export async function changeCluster(
  kube: Kube,
  { metadata: { namespace, name } }: FoundationDBCluster,
  change: (cluster: FoundationDBCluster) => object | undefined,
  subresource?: 'status',
): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    const cluster = await readCluster(kube, namespace, name)
    const fields = change(cluster)
    if (fields === undefined) return
    const { uid, resourceVersion } = cluster.metadata
    try {
      await kube.request('PATCH', resourcePath(clusterKind, namespace, name, subresource), {
        body: { metadata: { uid, resourceVersion }, ...fields },
        contentType: 'application/merge-patch+json',
        query: { fieldManager: 'pawl-cli' },
      })
      return
    } catch (error) {
      if (!(error instanceof KubeError && error.status === 409) || attempt === MOST_ATTEMPTS) throw error
    }
  }
}
