// Converts a Pod object to the fields that a node agent needs.

import type { KubeObject } from '../../kube/client.ts'
import { resourcePath } from '../../kube/resource-path.ts'
import { DISRUPTION_NAMESPACE_LABEL, INJECTOR_CONTAINER, TARGET_LABEL } from '../../../workflows/chaos/contract.ts'
import type { ChaosPod, PodPhase } from '../../../workflows/chaos/node-agent/chaos-pod.ts'
import { type EnvVar, type Mount, probedFile } from '../../../workflows/chaos/node-agent/container.ts'
import type { PodStatus } from '../../../workflows/chaos/node-agent/pod-status.ts'

export const PODS = { apiVersion: 'v1', plural: 'pods' }

export interface Probe {
  /** A path in the container's file system. */
  readonly file: string
  readonly periodMs: number
  readonly initialDelayMs: number
  /** The number of consecutive failures after which a ready pod becomes unready. */
  readonly failureThreshold: number
}

/** A chaos pod with the facts that start its process. */
export interface AgentPod extends ChaosPod {
  readonly uid: string
  readonly namespace: string
  readonly name: string
  readonly nodeName: string
  readonly version: number
  readonly path: string
  readonly status: PodStatus
  readonly container: {
    readonly args: readonly string[]
    readonly env: readonly EnvVar[]
    readonly image: string
    readonly mounts: readonly Mount[]
    /** Undefined: the pod is ready when it runs. */
    readonly probe: Probe | undefined
  }
  readonly target: { readonly namespace: string; readonly name: string }
  /** The original object. */
  readonly object: KubeObject
}

interface RawPod {
  readonly spec?: RawSpec
  readonly status?: PodStatus
}

interface RawSpec {
  readonly nodeName?: string
  readonly activeDeadlineSeconds?: number
  readonly terminationGracePeriodSeconds?: number
  readonly containers?: readonly RawContainer[]
  readonly volumes?: readonly RawVolume[]
}

interface RawVolume {
  readonly name: string
  readonly hostPath?: { readonly path: string }
}

interface RawContainer {
  readonly name: string
  readonly image?: string
  readonly args?: readonly string[]
  readonly env?: readonly EnvVar[]
  readonly volumeMounts?: readonly { readonly name: string; readonly mountPath: string }[]
  readonly readinessProbe?: {
    readonly exec?: { readonly command?: readonly string[] }
    readonly periodSeconds?: number
    readonly initialDelaySeconds?: number
    readonly failureThreshold?: number
  }
}

export function readPod(object: KubeObject): AgentPod {
  const { metadata } = object
  const { spec = {}, status = {} } = object as RawPod
  const { uid = '', namespace = '', name } = metadata
  const raw = spec.containers?.find((one) => one.name === INJECTOR_CONTAINER)
  const { probe, problem } = readProbe(raw)
  const { graceMs } = readSpec(spec)
  return {
    uid,
    namespace,
    name,
    object,
    status,
    problem,
    ...readSpec(spec),
    version: Number(metadata.resourceVersion),
    path: resourcePath(PODS, namespace, name),
    phase: (status.phase ?? 'Pending') as PodPhase,
    deletion: metadata.deletionTimestamp === undefined ? undefined : { graceMs: deletionGraceMs(object, graceMs) },
    container: { ...readContainer(raw), mounts: mountsOf(raw, spec.volumes ?? []), probe },
    target: targetOf(metadata),
  }
}

/** The annotation contains names that are too long for a label. */
function targetOf({ labels = {}, annotations = {} }: KubeObject['metadata']): AgentPod['target'] {
  return {
    namespace: labels[DISRUPTION_NAMESPACE_LABEL] ?? '',
    name: annotations[TARGET_LABEL] ?? labels[TARGET_LABEL] ?? '',
  }
}

function readSpec({ nodeName = '', activeDeadlineSeconds, terminationGracePeriodSeconds = 30 }: RawSpec) {
  const activeDeadlineMs = activeDeadlineSeconds === undefined ? undefined : activeDeadlineSeconds * 1000
  return { nodeName, activeDeadlineMs, graceMs: terminationGracePeriodSeconds * 1000 }
}

function readContainer({ args = [], env = [], image = '' }: Partial<RawContainer> = {}) {
  return { args, env, image }
}

function mountsOf(container: RawContainer | undefined, volumes: readonly RawVolume[]): readonly Mount[] {
  return (container?.volumeMounts ?? []).flatMap(({ name, mountPath }) => {
    const hostPath = volumes.find((one) => one.name === name)?.hostPath?.path
    return hostPath === undefined ? [] : [{ path: mountPath, hostPath }]
  })
}

function deletionGraceMs({ metadata }: KubeObject, graceMs: number): number {
  const { deletionGracePeriodSeconds: seconds } = metadata as { readonly deletionGracePeriodSeconds?: number }
  return seconds === undefined ? graceMs : seconds * 1000
}

function readProbe(container: RawContainer | undefined): {
  readonly probe: Probe | undefined
  readonly problem: string | undefined
} {
  if (container === undefined)
    return { probe: undefined, problem: `spec.containers: container "${INJECTOR_CONTAINER}" is missing` }
  const { readinessProbe: given } = container
  if (given === undefined) return { probe: undefined, problem: undefined }
  try {
    const probe = {
      file: probedFile(given.exec?.command ?? []),
      periodMs: (given.periodSeconds ?? 10) * 1000,
      initialDelayMs: (given.initialDelaySeconds ?? 0) * 1000,
      failureThreshold: given.failureThreshold ?? 3,
    }
    return { probe, problem: undefined }
  } catch (error) {
    return { probe: undefined, problem: error instanceof Error ? error.message : String(error) }
  }
}
