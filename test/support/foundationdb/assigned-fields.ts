// The fields that the API server, the scheduler and the kubelet set in objects.

import type { JsonObject } from '../../../workflows/kit/index.ts'

/** 2026-01-01. */
export const START_TEXT = '2026-01-01T00:00:00Z'

/** A Pod that runs on a Node. */
export function startedPod(
  pod: JsonObject,
  assigned: { readonly uid: string; readonly seconds: number; readonly node: string; readonly address: string },
): JsonObject {
  const { uid, seconds, node, address } = assigned
  const spec = pod['spec'] as {
    readonly containers: readonly { readonly name: string }[]
    readonly nodeName?: string
  }
  return {
    ...pod,
    metadata: { ...pod.metadata, uid, creationTimestamp: new Date(seconds * 1000).toISOString() },
    spec: { ...spec, nodeName: node },
    status: {
      phase: 'Running',
      podIP: address,
      podIPs: [{ ip: address }],
      containerStatuses: spec.containers.map((one) => ({ name: one.name, ready: true })),
    },
  }
}

/** A Service with a clusterIP. @param at its number in the cluster. */
export function withAddress(service: JsonObject, at: number): JsonObject {
  const spec = service['spec'] as { readonly clusterIP?: string }
  return { ...service, spec: { ...spec, clusterIP: spec.clusterIP ?? `10.96.0.${at + 1}` } }
}

/** @param seconds the time when the taint was added. */
export function taintedNode(name: string, key: string, seconds: number): JsonObject {
  const metadata = {
    name,
    namespace: '',
    uid: name,
    resourceVersion: '1',
    generation: 1,
    creationTimestamp: START_TEXT,
  }
  const taint = { key, effect: 'NoSchedule', timeAdded: new Date(seconds * 1000).toISOString() }
  return { apiVersion: 'v1', kind: 'Node', metadata, spec: { taints: [taint] } }
}
