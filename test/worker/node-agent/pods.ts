// Pods for tests of the node agent.

import type { KubeObject } from '../../../activities/kube/client.ts'
import { type AgentPod, readPod } from '../../../worker/node-agent/agent-pod.ts'

export interface PodOptions {
  readonly name?: string
  readonly uid?: string
  readonly version?: number
  readonly node?: string
  readonly phase?: string
  readonly restartPolicy?: string
  readonly activeDeadlineSeconds?: number
  readonly terminationGracePeriodSeconds?: number
  readonly containers?: readonly object[]
  readonly initContainers?: readonly object[]
  readonly volumes?: readonly object[]
  readonly metadata?: object
  readonly status?: object
}

const DEFAULTS = {
  name: 'one',
  uid: 'uid-1',
  version: 1,
  node: 'node-1',
  phase: 'Pending',
  restartPolicy: 'Never',
  containers: [{ name: 'main', image: 'i' }],
  initContainers: [],
  volumes: [],
  terminationGracePeriodSeconds: 60,
} satisfies PodOptions

/** A pod as the API server returns it. */
export function storedPod(options: PodOptions = {}): KubeObject {
  const { name, uid, version, node, phase, metadata, status, ...spec } = { ...DEFAULTS, ...options }
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: 'n', uid, resourceVersion: String(version), labels: { app: 'yes' }, ...metadata },
    spec: { nodeName: node, ...spec },
    status: { phase, ...status },
  }
}

export function agentPod(options: PodOptions = {}): AgentPod {
  return readPod(storedPod(options))
}

/** The metadata of a pod that is being deleted. */
export const deleting = (graceSeconds = 5) => ({
  metadata: { deletionTimestamp: '2026-01-01T00:00:00Z', deletionGracePeriodSeconds: graceSeconds },
})
