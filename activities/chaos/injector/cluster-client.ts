// The cluster, for those injections that need one: made when it is used first.

import type { KubeClient } from '../../kube/client.ts'
import type { Settings } from './settings.ts'

export interface Cluster {
  readonly client: () => Promise<KubeClient>
  readonly close: () => Promise<void>
}

/** Undefined: the environment names none. */
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
