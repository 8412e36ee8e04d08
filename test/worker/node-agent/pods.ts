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

/** A pod as the API server returns it. */
export function storedPod(options: PodOptions = {}): KubeObject {
  const { name = 'one', uid = 'uid-1', version = 1, node = 'node-1', phase = 'Pending' } = options
  const { restartPolicy = 'Never', containers = [{ name: 'main', image: 'i' }], metadata = {}, status = {} } = options
  const { activeDeadlineSeconds, terminationGracePeriodSeconds = 60, initContainers = [], volumes = [] } = options
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: 'n', uid, resourceVersion: String(version), labels: { app: 'yes' }, ...metadata },
    spec: {
      nodeName: node,
      restartPolicy,
      terminationGracePeriodSeconds,
      containers,
      initContainers,
      volumes,
      ...(activeDeadlineSeconds !== undefined && { activeDeadlineSeconds }),
    },
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
