// The pod at an address, and the node on which it is.

import type { CommonFlags } from '../../../workflows/chaos/injector/invocation.ts'
import type { ReplacementFacts } from '../../../workflows/chaos/injector/plan.ts'
import type { KubeClient, KubeObject } from '../../kube/client.ts'

interface PodSpec {
  readonly volumes?: readonly { readonly persistentVolumeClaim?: { readonly claimName: string } }[]
}

/** @throws when no pod has the address, or several have it and none has the name of the target. */
export async function replacementFacts(
  kube: KubeClient,
  { targetPodIp = '', log }: CommonFlags,
): Promise<ReplacementFacts> {
  const node = log.targetNodeName
  const fieldSelector = `status.podIP=${targetPodIp},spec.nodeName=${node}`
  const { items } = await kube.request<{ readonly items: readonly KubeObject[] }>('GET', '/api/v1/pods', {
    query: { fieldSelector },
  })
  // Those on the node's own network share its address.
  const pod = items.length === 1 ? items[0] : items.find(({ metadata }) => metadata.name === log.targetName)
  if (pod?.metadata.namespace === undefined || pod.metadata.uid === undefined)
    throw new Error(`${items.length} pods with ${fieldSelector} found, expected one`)
  const { namespace, name, uid } = pod.metadata
  const found = await kube.request<KubeObject>('GET', `/api/v1/nodes/${node}`)
  const volumes = (pod['spec'] as PodSpec | undefined)?.volumes ?? []
  return {
    node,
    pod: { namespace, name, uid },
    isCordoned: (found['spec'] as { readonly unschedulable?: boolean } | undefined)?.unschedulable === true,
    claims: volumes.flatMap(({ persistentVolumeClaim: claim }) => (claim === undefined ? [] : [claim.claimName])),
  }
}
