// Converts a Pod object to the fields that the node agent needs. Source: Kubernetes, Pod API v1.

import type { KubeObject } from '../../activities/kube/client.ts'
import { resourcePath } from '../../activities/kube/resource-path.ts'
import type { PodStatus } from './status-fields.ts'

export const PODS = { apiVersion: 'v1', plural: 'pods' }

export type PodPhase = 'Pending' | 'Running' | 'Succeeded' | 'Failed' | 'Unknown'

/** Timestamps are milliseconds since the epoch, durations are milliseconds. */
export interface AgentPod {
  readonly uid: string
  readonly namespace: string
  readonly name: string
  /** Empty: the pod is not scheduled. */
  readonly nodeName: string
  readonly version: number
  /** The path of the API server. */
  readonly path: string
  readonly phase: PodPhase
  readonly restartPolicy: 'Always' | 'OnFailure' | 'Never'
  /** The pod has a deletionTimestamp: the grace period of its processes. */
  readonly deletion: { readonly graceMs: number } | undefined
  /** The grace period if the pod ends for another reason. */
  readonly graceMs: number
  /** The maximum time after `startTime`. */
  readonly activeDeadlineMs: number | undefined
  readonly serviceAccount: string
  readonly init: readonly ContainerSpec[]
  readonly containers: readonly ContainerSpec[]
  readonly volumes: readonly VolumeSpec[]
  readonly fsGroup: number | undefined
  readonly status: PodStatus
  /** The original object. */
  readonly object: KubeObject
}

export interface ContainerSpec {
  readonly name: string
  readonly image: string
  readonly isInit: boolean
  readonly command: readonly string[]
  readonly args: readonly string[]
  readonly workingDir: string | undefined
  readonly env: readonly EnvVar[]
  readonly envFrom: readonly EnvSource[]
  readonly mounts: readonly MountSpec[]
  readonly terminationLog: string
  readonly startup: ProbeSpec | undefined
  readonly liveness: ProbeSpec | undefined
  readonly readiness: ProbeSpec | undefined
  readonly raw: Readonly<Record<string, unknown>>
}

interface KeyRef {
  readonly name: string
  readonly key: string
  readonly optional?: boolean
}

export interface EnvVar {
  readonly name: string
  readonly value?: string
  readonly valueFrom?: {
    readonly fieldRef?: { readonly fieldPath: string }
    readonly configMapKeyRef?: KeyRef
    readonly secretKeyRef?: KeyRef
  }
}

export interface EnvSource {
  readonly prefix?: string
  readonly configMapRef?: { readonly name: string; readonly optional?: boolean }
  readonly secretRef?: { readonly name: string; readonly optional?: boolean }
}

export interface MountSpec {
  readonly name: string
  readonly mountPath: string
  readonly subPath?: string
}

export interface KeyToPath {
  readonly key: string
  readonly path: string
}

export interface DownwardItem {
  readonly path: string
  readonly fieldRef?: { readonly fieldPath: string }
}

/** A source of a projected volume. */
export interface Projection {
  readonly configMap?: { readonly name: string; readonly items?: readonly KeyToPath[]; readonly optional?: boolean }
  readonly secret?: { readonly name: string; readonly items?: readonly KeyToPath[]; readonly optional?: boolean }
  readonly downwardAPI?: { readonly items?: readonly DownwardItem[] }
  readonly serviceAccountToken?: {
    readonly path: string
    readonly audience?: string
    readonly expirationSeconds?: number
  }
}

export type VolumeSpec = { readonly name: string } & (
  | { readonly is: 'emptyDir' }
  /** Files of keys, tokens and fields. */
  | { readonly is: 'files'; readonly sources: readonly Projection[] }
  | { readonly is: 'claim'; readonly claim: string }
  | { readonly is: 'hostPath'; readonly path: string }
  | { readonly is: 'unsupported'; readonly source: string }
)

export interface ProbeSpec {
  readonly check:
    | { readonly is: 'exec'; readonly command: readonly string[] }
    | { readonly is: 'http'; readonly url: HttpTarget }
    | { readonly is: 'tcp'; readonly host: string | undefined; readonly port: number }
    | { readonly is: 'unsupported'; readonly source: string }
  readonly initialDelayMs: number
  readonly periodMs: number
  readonly timeoutMs: number
  readonly successThreshold: number
  readonly failureThreshold: number
}

export interface HttpTarget {
  readonly scheme: 'http' | 'https'
  /** Undefined: the pod's address. */
  readonly host: string | undefined
  readonly port: number
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
}

interface RawProbe {
  readonly exec?: { readonly command?: readonly string[] }
  readonly httpGet?: {
    readonly scheme?: string
    readonly host?: string
    readonly port: number | string
    readonly path?: string
    readonly httpHeaders?: readonly { readonly name: string; readonly value: string }[]
  }
  readonly tcpSocket?: { readonly host?: string; readonly port: number | string }
  readonly initialDelaySeconds?: number
  readonly periodSeconds?: number
  readonly timeoutSeconds?: number
  readonly successThreshold?: number
  readonly failureThreshold?: number
}

interface RawContainer {
  readonly name: string
  readonly image?: string
  readonly command?: readonly string[]
  readonly args?: readonly string[]
  readonly workingDir?: string
  readonly env?: readonly EnvVar[]
  readonly envFrom?: readonly EnvSource[]
  readonly ports?: readonly { readonly name?: string; readonly containerPort: number }[]
  readonly volumeMounts?: readonly MountSpec[]
  readonly terminationMessagePath?: string
  readonly startupProbe?: RawProbe
  readonly livenessProbe?: RawProbe
  readonly readinessProbe?: RawProbe
}

type RawNames = Projection['configMap'] & { readonly secretName?: string }

interface RawVolume {
  readonly name: string
  readonly emptyDir?: object
  readonly configMap?: RawNames
  readonly secret?: RawNames
  readonly downwardAPI?: Projection['downwardAPI']
  readonly projected?: { readonly sources?: readonly Projection[] }
  readonly persistentVolumeClaim?: { readonly claimName: string }
  readonly hostPath?: { readonly path: string }
}

interface RawSpec {
  readonly nodeName?: string
  readonly restartPolicy?: AgentPod['restartPolicy']
  readonly serviceAccountName?: string
  readonly securityContext?: { readonly fsGroup?: number }
  readonly activeDeadlineSeconds?: number
  readonly terminationGracePeriodSeconds?: number
  readonly initContainers?: readonly RawContainer[]
  readonly containers?: readonly RawContainer[]
  readonly volumes?: readonly RawVolume[]
}

export function readPod(object: KubeObject): AgentPod {
  const { metadata } = object
  const { spec = {}, status = {} } = object as { readonly spec?: RawSpec; readonly status?: PodStatus }
  const { uid = '', namespace = '', name } = metadata
  const fields = readSpec(spec)
  return {
    uid,
    namespace,
    name,
    object,
    status,
    ...fields,
    version: Number(metadata.resourceVersion),
    path: resourcePath(PODS, namespace, name),
    phase: (status.phase ?? 'Pending') as PodPhase,
    deletion:
      metadata.deletionTimestamp === undefined ? undefined : { graceMs: deletionGraceMs(object, fields.graceMs) },
  }
}

function readSpec(spec: RawSpec) {
  const { nodeName = '', restartPolicy = 'Always', serviceAccountName: serviceAccount = 'default' } = spec
  const { initContainers = [], containers = [], volumes = [] } = spec
  const { activeDeadlineSeconds, terminationGracePeriodSeconds = 30 } = spec
  return {
    nodeName,
    restartPolicy,
    serviceAccount,
    fsGroup: spec.securityContext?.fsGroup,
    graceMs: terminationGracePeriodSeconds * 1000,
    activeDeadlineMs: activeDeadlineSeconds === undefined ? undefined : activeDeadlineSeconds * 1000,
    init: initContainers.map((one) => readContainer(one, true)),
    containers: containers.map((one) => readContainer(one, false)),
    volumes: volumes.map(readVolume),
  }
}

function deletionGraceMs({ metadata }: KubeObject, graceMs: number): number {
  const { deletionGracePeriodSeconds: seconds } = metadata as { readonly deletionGracePeriodSeconds?: number }
  return seconds === undefined ? graceMs : seconds * 1000
}

function readContainer(raw: RawContainer, isInit: boolean): ContainerSpec {
  const ports = new Map((raw.ports ?? []).map(({ name, containerPort }) => [name ?? '', containerPort]))
  const probe = (given: RawProbe | undefined) => (given === undefined ? undefined : readProbe(given, ports))
  return {
    name: raw.name,
    image: raw.image ?? '',
    isInit,
    command: raw.command ?? [],
    args: raw.args ?? [],
    workingDir: raw.workingDir,
    env: raw.env ?? [],
    envFrom: raw.envFrom ?? [],
    mounts: raw.volumeMounts ?? [],
    terminationLog: raw.terminationMessagePath ?? '/dev/termination-log',
    startup: probe(raw.startupProbe),
    liveness: probe(raw.livenessProbe),
    readiness: probe(raw.readinessProbe),
    raw: { ...raw },
  }
}

function readProbe(raw: RawProbe, ports: ReadonlyMap<string, number>): ProbeSpec {
  return {
    check: readCheck(raw, (port) => (typeof port === 'number' ? port : (ports.get(port) ?? Number(port)))),
    initialDelayMs: (raw.initialDelaySeconds ?? 0) * 1000,
    periodMs: (raw.periodSeconds ?? 10) * 1000,
    timeoutMs: (raw.timeoutSeconds ?? 1) * 1000,
    successThreshold: raw.successThreshold ?? 1,
    failureThreshold: raw.failureThreshold ?? 3,
  }
}

function readCheck(
  { exec, httpGet, tcpSocket, ...others }: RawProbe,
  portOf: (port: number | string) => number,
): ProbeSpec['check'] {
  if (exec !== undefined) return { is: 'exec', command: exec.command ?? [] }
  if (tcpSocket !== undefined) return { is: 'tcp', host: tcpSocket.host, port: portOf(tcpSocket.port) }
  if (httpGet === undefined) return { is: 'unsupported', source: 'grpc' in others ? 'grpc' : 'none' }
  const { scheme, host, port, path = '/', httpHeaders = [] } = httpGet
  const headers = Object.fromEntries(httpHeaders.map(({ name, value }) => [name, value]))
  return { is: 'http', url: { scheme: scheme === 'HTTPS' ? 'https' : 'http', host, port: portOf(port), path, headers } }
}

function readVolume(raw: RawVolume): VolumeSpec {
  const { name, configMap, secret, downwardAPI, projected, persistentVolumeClaim, hostPath } = raw
  if (raw.emptyDir !== undefined) return { name, is: 'emptyDir' }
  if (configMap !== undefined) return { name, is: 'files', sources: [{ configMap }] }
  if (secret !== undefined)
    return { name, is: 'files', sources: [{ secret: { ...secret, name: secret.secretName ?? '' } }] }
  if (downwardAPI !== undefined) return { name, is: 'files', sources: [{ downwardAPI }] }
  if (projected !== undefined) return { name, is: 'files', sources: projected.sources ?? [] }
  if (persistentVolumeClaim !== undefined) return { name, is: 'claim', claim: persistentVolumeClaim.claimName }
  if (hostPath !== undefined) return { name, is: 'hostPath', path: hostPath.path }
  return { name, is: 'unsupported', source: Object.keys(raw).find((key) => key !== 'name') ?? 'none' }
}
