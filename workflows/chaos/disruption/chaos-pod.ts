// Builds the manifest of a chaos pod, which runs the injector. Pure. Source: spec/chaos.md 2.5.

import { type WantedObject, contentHash } from '../../kit/index.ts'
import type { PassConfig } from '../config.ts'
import {
  CHAOS_POD_FINALIZER,
  DISRUPTION_KIND_LABEL,
  DISRUPTION_NAME_LABEL,
  DISRUPTION_NAMESPACE_LABEL,
  INJECTOR_CONTAINER,
  type InjectorKindName,
  READINESS_FILE,
  TARGET_LABEL,
} from '../contract.ts'
import { injectorArgs } from './injector-args.ts'
import type { DisruptionSpec } from './kind.ts'
import type { Target, TargetContainer } from './observed.ts'
import type { NetworkHost } from './schema/network.ts'
import type { DisruptionTimes } from './times.ts'

// A name becomes the pod's host name, a label of RFC 1123.
const MAX_NAME_LENGTH = 63
const MAX_LABEL_LENGTH = 63

export interface ChaosPodIdentity {
  /** The name of the Disruption. */
  readonly name: string
  readonly uid: string
  readonly target: string
  readonly kind: string
  /** The number of the run; the first run is 1. */
  readonly run: number
}

/**
 * `chaos-<disruption>-<hash>`, the same for the same target, kind and run, so that a repeated create finds the existing
 * pod. Source: spec/chaos.md 6 (1).
 */
export function chaosPodName({ name, ...of }: ChaosPodIdentity): string {
  const hash = contentHash(of).slice(0, 10)
  const begin = `chaos-${name}`.slice(0, MAX_NAME_LENGTH - hash.length - 1).replace(/[^a-z0-9]+$/, '')
  return `${begin.replaceAll('.', '-')}-${hash}`
}

/** A target's name as a label value: longer names are shortened and get a hash. */
export function targetLabel(name: string): string {
  if (name.length <= MAX_LABEL_LENGTH) return name
  const hash = contentHash(name).slice(0, 10)
  return `${name.slice(0, MAX_LABEL_LENGTH - hash.length - 1).replace(/[^A-Za-z0-9]+$/, '')}-${hash}`
}

/**
 * The pod's deadline is this much later than the injector's, so that normally the injector ends the pod. Source:
 * spec/chaos.md 1.3.
 */
export const DEADLINE_MARGIN_SECONDS = 10
const GRACE_SECONDS = 60

export interface ChaosPodInput {
  readonly name: string
  readonly kind: InjectorKindName
  readonly target: Target
  readonly disruption: { readonly name: string; readonly namespace: string; readonly uid: string }
  readonly spec: DisruptionSpec
  readonly config: PassConfig
  readonly times: DisruptionTimes
  /** The address ranges of the cloud services in the spec. */
  readonly cloudHosts: readonly NetworkHost[]
  /** Milliseconds since the epoch. */
  readonly now: number
}

/** The reason why this target gets no chaos pod. */
export interface NoChaosPod {
  readonly reason: 'EmptyDisruption' | 'CreateFailed'
  readonly message: string
}

export function chaosPod(input: ChaosPodInput): { readonly pod: WantedObject } | { readonly problem: NoChaosPod } {
  const { target, spec } = input
  const isOfNode = spec.level === 'node'
  const chosen = isOfNode ? { containers: [] } : containersOf(target, spec)
  if ('problem' in chosen) return chosen
  return { pod: podOf(input, chosen.containers) }
}

/** The requested containers, or all; init containers only with `onInit`. */
function containersOf(
  { containers }: Target,
  { containers: names = [], onInit }: Pick<DisruptionSpec, 'containers' | 'onInit'>,
): { readonly containers: readonly TargetContainer[] } | { readonly problem: NoChaosPod } {
  const usable = containers.filter(({ isInit }) => isInit !== true || onInit === true)
  const found = usable.map(({ name }) => name).join(', ') || 'none'
  const missing = names.filter((name) => !usable.some((one) => one.name === name))
  if (missing.length > 0)
    return {
      problem: {
        reason: 'CreateFailed',
        message: `spec.containers: found ${missing.join(', ')}; expected running containers of the target: ${found}`,
      },
    }
  if (usable.length === 0)
    return { problem: { reason: 'EmptyDisruption', message: 'the target has no running container; Pawl retries' } }
  return { containers: names.length === 0 ? usable : usable.filter(({ name }) => names.includes(name)) }
}

function podOf(input: ChaosPodInput, containers: readonly TargetContainer[]): WantedObject {
  const { name, kind, target, disruption, spec, times, now, config, cloudHosts } = input
  const { injector, controller } = config
  const [targetName, label] = [target.metadata.name, targetLabel(target.metadata.name)]
  const place = { name: targetName, node: target.node, ip: target.ip }
  const args = injectorArgs({
    kind,
    spec,
    disruption,
    target: place,
    containers,
    times,
    cloudHosts,
    config: injector,
    metricsSink: controller.metricsSink,
  })
  const remainingMs = Math.max(0, times.end - now)
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name,
      namespace: injector.chaosNamespace,
      labels: {
        ...injector.labels,
        [TARGET_LABEL]: label,
        [DISRUPTION_KIND_LABEL]: kind,
        [DISRUPTION_NAME_LABEL]: disruption.name,
        [DISRUPTION_NAMESPACE_LABEL]: disruption.namespace,
      },
      annotations: { ...injector.annotations, ...(label !== targetName && { [TARGET_LABEL]: targetName }) },
      finalizers: [CHAOS_POD_FINALIZER],
    },
    spec: {
      hostPID: true,
      restartPolicy: 'Never',
      nodeName: target.node,
      serviceAccountName: injector.serviceAccount,
      terminationGracePeriodSeconds: GRACE_SECONDS,
      activeDeadlineSeconds: Math.ceil(remainingMs / 1000) + DEADLINE_MARGIN_SECONDS,
      tolerations: injector.tolerations,
      ...(injector.imagePullSecret !== undefined && { imagePullSecrets: [{ name: injector.imagePullSecret }] }),
      containers: [containerOf(args, config)],
      volumes: VOLUMES,
    },
  }
}

const NO_RESOURCES = { cpu: '0', memory: '0' }

function containerOf(args: readonly string[], { injector, controller }: PassConfig): object {
  const { image, logLevel } = injector
  // Without this variable the injector uses the Datadog agent of its node.
  const statsdURL = controller.metricsSink === 'datadog' ? controller.statsdURL : undefined
  return {
    name: INJECTOR_CONTAINER,
    image,
    imagePullPolicy: 'IfNotPresent',
    args,
    // An image with another entry point writes no termination message.
    terminationMessagePolicy: 'FallbackToLogsOnError',
    securityContext: { privileged: true },
    resources: { limits: NO_RESOURCES, requests: NO_RESOURCES },
    // Source: seeds/chaos-controller.txt "Injection phase", step 5.
    readinessProbe: { exec: { command: ['test', '-f', READINESS_FILE] }, periodSeconds: 1, failureThreshold: 5 },
    env: [
      fromField('TARGET_POD_HOST_IP', 'status.hostIP'),
      fromField('CHAOS_POD_IP', 'status.podIP'),
      fromField('INJECTOR_POD_NAME', 'metadata.name'),
      { name: 'CHAOS_INJECTOR_MOUNT_HOST', value: '/mnt/host/' },
      { name: 'CHAOS_INJECTOR_MOUNT_PROC', value: '/mnt/host/proc/' },
      { name: 'CHAOS_INJECTOR_MOUNT_SYSRQ', value: '/mnt/sysrq' },
      { name: 'CHAOS_INJECTOR_MOUNT_SYSRQ_TRIGGER', value: '/mnt/sysrq-trigger' },
      { name: 'CHAOS_INJECTOR_MOUNT_CGROUP', value: '/mnt/cgroup/' },
      { name: 'LOG_LEVEL', value: logLevel },
      ...(statsdURL === undefined ? [] : [{ name: 'STATSD_URL', value: statsdURL }]),
    ],
    volumeMounts: [
      { name: 'run', mountPath: '/run' },
      { name: 'sysrq', mountPath: '/mnt/sysrq' },
      { name: 'sysrq-trigger', mountPath: '/mnt/sysrq-trigger' },
      { name: 'cgroup', mountPath: '/mnt/cgroup' },
      { name: 'host', mountPath: '/mnt/host', readOnly: true },
      { name: 'boot', mountPath: '/boot', readOnly: true },
    ],
  }
}

function fromField(name: string, fieldPath: string): object {
  return { name, valueFrom: { fieldRef: { fieldPath } } }
}

const VOLUMES = Object.entries({
  run: '/run',
  proc: '/proc',
  sysrq: '/proc/sys/kernel/sysrq',
  'sysrq-trigger': '/proc/sysrq-trigger',
  cgroup: '/sys/fs/cgroup',
  host: '/',
  boot: '/boot',
}).map(([name, path]) => ({ name, hostPath: { path } }))
