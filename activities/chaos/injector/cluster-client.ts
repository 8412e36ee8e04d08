// Lazily creates the API client for the injections that need a cluster.

import type { KubeClient } from '../../kube/client.ts'
import type { Settings } from './settings.ts'

export interface Cluster {
  readonly client: () => Promise<KubeClient>
  readonly close: () => Promise<void>
}

/** Undefined if the environment names no cluster. */
export function openCluster({ kubeconfig, isInCluster }: Settings): Cluster | undefined {
  if (kubeconfig === undefined && !isInCluster) return undefined
  let opened: Promise<KubeClient> | undefined
  const open = async () => {
    const { createKubeClient } = await import('../../kube/client.ts')
    return createKubeClient({ kubeconfigPath: kubeconfig, userAgent: 'pawl-injector' })
  }
  return {
    client: async () => await (opened ??= open()),
    close: async () => {
      await (await opened)?.close()
    },
  }
}
