// Reads the Pods of a cluster.

import type { FoundationDBCluster } from '../../../workflows/foundationdb/cluster/kind.ts'
import { PROCESS_GROUP_LABEL, PUBLIC_IP_ANNOTATION } from '../../../workflows/foundationdb/contract.ts'
import { clusterSettings } from '../../../workflows/foundationdb/model/cluster-settings.ts'
import { readPages } from '../../kube/pages.ts'
import { resourcePath } from '../../kube/resource-path.ts'
import type { Kube } from './clusters.ts'

interface ContainerState {
  readonly reason?: string
  readonly message?: string
  readonly exitCode?: number
  readonly finishedAt?: string
}

/** The fields of a Pod that the commands read. */
export interface ClusterPod {
  readonly metadata: {
    readonly name: string
    readonly uid: string
    readonly labels?: Readonly<Record<string, string>>
    readonly annotations?: Readonly<Record<string, string>>
    readonly deletionTimestamp?: string
  }
  readonly spec?: { readonly nodeName?: string }
  readonly status?: {
    readonly phase?: string
    readonly reason?: string
    readonly message?: string
    readonly podIP?: string
    readonly podIPs?: readonly { readonly ip: string }[]
    readonly conditions?: readonly { readonly type: string; readonly status: string; readonly message?: string }[]
    readonly containerStatuses?: readonly {
      readonly name: string
      readonly ready?: boolean
      readonly state?: { readonly waiting?: ContainerState; readonly terminated?: ContainerState }
    }[]
  }
}

export const PODS = { apiVersion: 'v1', plural: 'pods' }

/** @throws errors of the API server. */
export async function readPods(kube: Kube, cluster: FoundationDBCluster): Promise<readonly ClusterPod[]> {
  const { matchLabels } = clusterSettings(cluster)
  const labelSelector = Object.entries(matchLabels)
    .map(([name, value]) => `${name}=${value}`)
    .join(',')
  const pods: ClusterPod[] = []
  const path = resourcePath(PODS, cluster.metadata.namespace)
  for await (const { items } of readPages(kube, path, { query: { labelSelector }, limit: undefined }))
    pods.push(...(items as unknown as readonly ClusterPod[]))
  return pods
}

export function processGroupIDOf({ spec }: FoundationDBCluster, { metadata }: ClusterPod): string | undefined {
  const [label = PROCESS_GROUP_LABEL] = spec.labels?.processGroupIDLabels ?? []
  return metadata.labels?.[label]
}

/** The address under which others reach the processes of the Pod: of its Service, or of the Pod. Undefined while it has none. */
export function publicAddressOf({ metadata, status = {} }: ClusterPod, family: 4 | 6 | undefined): string | undefined {
  const service = metadata.annotations?.[PUBLIC_IP_ANNOTATION]
  if (service !== undefined && service !== '') return service
  const ips = status.podIPs?.map(({ ip }) => ip) ?? []
  return ips.find((ip) => family === undefined || ip.includes(':') === (family === 6)) ?? status.podIP
}
