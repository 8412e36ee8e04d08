// Chaos pods whose injectors are short shell scripts.

import type { KubeObject } from '../../../../activities/kube/client.ts'

/** Becomes ready, and succeeds when it is terminated. */
export const GOOD_INJECTOR = `
trap 'echo cleaned; exit 0' TERM
echo injected
touch "$CHAOS_INJECTOR_READINESS_FILE"
while :; do sleep 0.02; done
`
/** Ends only when it is killed. */
export const DEAF_INJECTOR = `
trap '' TERM
touch "$CHAOS_INJECTOR_READINESS_FILE"
while :; do sleep 0.02; done
`

export interface PodOptions {
  readonly name?: string
  readonly namespace?: string
  readonly node?: string
  readonly args?: readonly string[]
  readonly finalizers?: readonly string[]
  readonly activeDeadlineSeconds?: number
  readonly terminationGracePeriodSeconds?: number
  readonly target?: string
}

export function chaosPod(options: PodOptions = {}): KubeObject & { readonly apiVersion: string } {
  const { name = 'chaos-one', namespace = 'chaos-engineering', node = 'node-1', args = ['cpu-pressure'] } = options
  const { finalizers = [], target = 'app', activeDeadlineSeconds, terminationGracePeriodSeconds = 60 } = options
  const fieldRef = (fieldPath: string) => ({ valueFrom: { fieldRef: { fieldPath } } })
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name,
      namespace,
      finalizers,
      labels: {
        'chaos.datadoghq.com/target': target,
        'chaos.datadoghq.com/disruption-kind': 'cpu-pressure',
        'chaos.datadoghq.com/disruption-name': 'd',
        'chaos.datadoghq.com/disruption-namespace': namespace,
      },
    },
    spec: {
      nodeName: node,
      restartPolicy: 'Never',
      terminationGracePeriodSeconds,
      ...(activeDeadlineSeconds !== undefined && { activeDeadlineSeconds }),
      containers: [
        {
          name: 'injector',
          image: 'chaos-injector:test',
          args,
          env: [
            { name: 'INJECTOR_POD_NAME', ...fieldRef('metadata.name') },
            { name: 'TARGET_POD_HOST_IP', ...fieldRef('status.hostIP') },
            { name: 'CHAOS_INJECTOR_MOUNT_HOST', value: '/mnt/host/' },
          ],
          volumeMounts: [{ name: 'host', mountPath: '/mnt/host', readOnly: true }],
          readinessProbe: {
            exec: { command: ['test', '-f', '/tmp/readiness_probe'] },
            periodSeconds: 1,
            failureThreshold: 5,
          },
        },
      ],
      volumes: [{ name: 'host', hostPath: { path: '/' } }],
    },
  }
}

/** The pod as the API server would return it. */
export function storedPod(options: PodOptions & { readonly uid?: string; readonly version?: number } = {}): KubeObject {
  const { uid = 'uid-1', version = 1, ...more } = options
  const pod = chaosPod(more)
  const metadata = { ...pod.metadata, uid, resourceVersion: String(version) }
  return { ...pod, metadata, status: { phase: 'Pending' } }
}
