// The objects of a cluster as its passes observe them: only the fields that steps use, so that 500 process groups fit into one pass. Source:
// spec/foundationdb.md 4.14.

import { fieldsOf, type JsonObject, listOf, textOf } from '../../kit/index.ts'
import {
  MAIN_CONTAINER,
  NO_SCHEDULE_LABEL,
  PROCESS_CLASS_LABEL,
  PROCESS_GROUP_LABEL,
  SIDECAR_CONTAINER,
} from '../contract.ts'
import { unixSeconds } from './process-groups.ts'

export interface ObservedMeta {
  readonly name: string
  readonly namespace: string
  readonly uid: string
  readonly resourceVersion: string
  readonly creationTimestamp: string
  readonly deletionTimestamp?: string
  readonly labels?: Readonly<Record<string, string>>
  readonly annotations?: Readonly<Record<string, string>>
}

interface Observed {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: ObservedMeta
}

interface EnvironmentVariable {
  readonly name: string
  readonly value?: string
  readonly valueFrom?: { readonly fieldRef?: { readonly fieldPath: string } }
}

export interface ObservedContainer {
  readonly name: string
  readonly image?: string
  /** Only of a container that crashes on purpose. */
  readonly command?: readonly string[]
  readonly env?: readonly EnvironmentVariable[]
  readonly resources?: { readonly requests?: Readonly<Record<string, string>> }
}

export interface ObservedPod extends Observed {
  readonly spec: {
    readonly nodeName?: string
    readonly containers: readonly ObservedContainer[]
    readonly nodeSelector?: Readonly<Record<string, string>>
    readonly affinity?: { readonly nodeAffinity?: unknown }
  }
  readonly status?: {
    readonly phase?: string
    readonly podIP?: string
    readonly podIPs?: readonly { readonly ip: string }[]
    readonly containerStatuses?: readonly { readonly name: string; readonly ready: boolean }[]
  }
}

export interface ObservedClaim extends Observed {
  readonly status?: { readonly phase?: string }
}

export interface ObservedService extends Observed {
  readonly spec: {
    readonly clusterIP?: string
    readonly selector?: Readonly<Record<string, string>>
    readonly ipFamilies?: readonly string[]
  }
}

export interface ObservedConfigMap extends Observed {
  readonly data?: Readonly<Record<string, string>>
}

export interface TaintedNode {
  readonly name: string
  readonly taints: readonly NodeTaint[]
}

export interface NodeTaint {
  readonly key: string
  /** Unix seconds. */
  readonly since?: number
}

export function podView(pod: JsonObject): ObservedPod {
  const { spec, status, ...rest } = base<ObservedPod>(pod)
  const { phase, podIP, podIPs, containerStatuses = [] } = status ?? {}
  return {
    ...rest,
    spec: {
      ...(spec.nodeName !== undefined && { nodeName: spec.nodeName }),
      containers: spec.containers.map(container),
      ...(spec.nodeSelector !== undefined && { nodeSelector: spec.nodeSelector }),
      ...(spec.affinity?.nodeAffinity !== undefined && { affinity: { nodeAffinity: spec.affinity.nodeAffinity } }),
    },
    status: {
      ...(phase !== undefined && { phase }),
      ...(podIP !== undefined && { podIP }),
      ...(podIPs !== undefined && { podIPs }),
      containerStatuses: containerStatuses.map(({ name, ready }) => ({ name, ready })),
    },
  }
}

/** The program of a container that crashes on purpose; it does not exist. */
const CRASH_LOOP = 'crash-loop'

/** The containers of the Pod that crash on purpose. */
export function crashingContainers({ spec }: ObservedPod): readonly string[] {
  return spec.containers.filter(({ command }) => command?.includes(CRASH_LOOP) === true).map(({ name }) => name)
}

/** Whether no Node accepts the Pod, on purpose. */
export function isUnschedulable({ spec }: ObservedPod): boolean {
  return JSON.stringify(spec.affinity?.nodeAffinity ?? {}).includes(NO_SCHEDULE_LABEL)
}

/** A variable of the container that completes the configuration: the sidecar, or the monitor of unified images. */
const SUBSTITUTED = 'FDB_INSTANCE_ID'

function isSubstituting({ env = [] }: ObservedContainer): boolean {
  return env.some(({ name }) => name === SUBSTITUTED)
}

/** Steps use the environment only of the container that completes the configuration. */
function container(one: ObservedContainer): ObservedContainer {
  const { name, image, command, env, resources: { requests } = {} } = one
  return {
    name,
    ...(requests !== undefined && { resources: { requests } }),
    ...(image !== undefined && { image }),
    ...(command?.includes(CRASH_LOOP) === true && { command }),
    ...(isSubstituting(one) && env !== undefined && { env }),
  }
}

export function claimView(claim: JsonObject): ObservedClaim {
  const { apiVersion, kind, metadata, status } = base<ObservedClaim>(claim)
  return { apiVersion, kind, metadata, ...(status?.phase !== undefined && { status: { phase: status.phase } }) }
}

export function serviceView(service: JsonObject): ObservedService {
  const { spec, ...rest } = base<ObservedService>(service)
  const { clusterIP, selector, ipFamilies } = spec
  return {
    ...rest,
    spec: {
      ...(clusterIP !== undefined && { clusterIP }),
      ...(selector !== undefined && { selector }),
      ...(ipFamilies !== undefined && { ipFamilies }),
    },
  }
}

/** Undefined for a Node without taints. */
export function taintedNodeView({ metadata, ...node }: JsonObject): TaintedNode | undefined {
  const taints = listOf(fieldsOf(node['spec'])['taints']).map((taint): NodeTaint => {
    const { key, timeAdded } = fieldsOf(taint)
    return { key: textOf(key), ...(typeof timeAdded === 'string' && { since: unixSeconds(timeAdded) }) }
  })
  return taints.length === 0 ? undefined : { name: metadata.name, taints }
}

function base<Of extends Observed>(object: JsonObject): Pick<Of, keyof Of> {
  // The API server validates the kind.
  const { metadata, ...rest } = object as unknown as Of
  const { name, namespace, uid, resourceVersion, creationTimestamp, deletionTimestamp, labels, annotations } = metadata
  return {
    ...rest,
    metadata: {
      name,
      namespace,
      uid,
      resourceVersion,
      creationTimestamp,
      ...(deletionTimestamp !== undefined && { deletionTimestamp }),
      ...(labels !== undefined && { labels }),
      ...(annotations !== undefined && { annotations }),
    },
  } as unknown as Of
}

const IMAGE_BINARIES = '/usr/bin'

/** The folder of fdbserver: in the image of the main container, or with the binaries that a sidecar of another version has copied. */
export function binaryFolderOf(pod: ObservedPod): string {
  const own = imageVersion(imageOf(pod, SIDECAR_CONTAINER))
  return own === imageVersion(imageOf(pod, MAIN_CONTAINER)) || own === undefined
    ? IMAGE_BINARIES
    : `/var/dynamic-conf/bin/${own}`
}

/** Whether processes of the Pod start with a binary that its sidecar has copied. */
export function hasCopiedBinary(pod: ObservedPod): boolean {
  return binaryFolderOf(pod) !== IMAGE_BINARIES
}

/** The version in the tag of an image, without a suffix. */
function imageVersion(image: string | undefined): string | undefined {
  return /:(\d+\.\d+\.\d+)[^/:]*$/.exec(image ?? '')?.[1]
}

export function processGroupOf({ metadata }: Observed): string | undefined {
  return metadata.labels?.[PROCESS_GROUP_LABEL]
}

export function processClassOf({ metadata }: Observed): string | undefined {
  return metadata.labels?.[PROCESS_CLASS_LABEL]
}

export function isTerminating({ metadata }: Observed): boolean {
  return metadata.deletionTimestamp !== undefined
}

/** Whether the containers of the Pod will not start again. */
export function hasEnded({ status }: ObservedPod): boolean {
  return status?.phase === 'Failed' || status?.phase === 'Succeeded'
}

/** Whether the Pod runs and its containers are ready. */
export function isRunning({ spec, status }: ObservedPod): boolean {
  const ready = new Set((status?.containerStatuses ?? []).filter((one) => one.ready).map(({ name }) => name))
  return status?.phase === 'Running' && spec.containers.every(({ name }) => ready.has(name))
}

export function imageOf(
  { spec }: ObservedPod,
  name: typeof MAIN_CONTAINER | typeof SIDECAR_CONTAINER,
): string | undefined {
  return spec.containers.find((one) => one.name === name)?.image
}

/**
 * The values of the variables that complete the configuration of processes. They come from the environment of a container, with fields of the Pod filled in. Undefined while the Pod has
 * no address.
 */
export function substitutionsOf(pod: ObservedPod): Readonly<Record<string, string>> | undefined {
  const { env = [] } = pod.spec.containers.find(isSubstituting) ?? {}
  const values = env.flatMap(({ name, value, valueFrom }) => {
    const path = valueFrom?.fieldRef?.fieldPath
    // A user's variable, such as one from a Secret, is no part of the configuration.
    if (path === undefined) return valueFrom === undefined ? [[name, value ?? ''] as const] : []
    return [[name, fieldOf(pod, path)] as const]
  })
  if (values.some(([, value]) => value === undefined)) return undefined
  return Object.fromEntries(values.map(([name, value]) => [name, value ?? '']))
}

function fieldOf({ metadata, spec, status }: ObservedPod, path: string): string | undefined {
  const [, kind = '', key = ''] = /^metadata\.(labels|annotations)\['([^']+)'\]$/.exec(path) ?? []
  if (kind === 'labels') return metadata.labels?.[key]
  if (kind === 'annotations') return metadata.annotations?.[key]
  const fields: Readonly<Record<string, string | undefined>> = {
    'metadata.name': metadata.name,
    'metadata.namespace': metadata.namespace,
    'spec.nodeName': spec.nodeName,
    'status.podIP': status?.podIP,
    'status.podIPs': status?.podIPs?.map(({ ip }) => ip).join(','),
  }
  return fields[path]
}
