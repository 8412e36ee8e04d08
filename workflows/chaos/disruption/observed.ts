// The fields of pods and nodes that a pass needs. The activities that read the objects call these views, so thousands
// of objects stay small in workflow history.

import type { ObservedObject } from '../../kit/index.ts'
import type { Node, Pod } from '../../kit/kind/kubernetes/v1.ts'
import {
  CHAOS_POD_FINALIZER,
  DISRUPTION_KIND_LABEL,
  DISRUPTION_NAME_LABEL,
  DISRUPTION_NAMESPACE_LABEL,
  DISRUPT_ON_INIT_LABEL,
  HANDLER_CONTAINER,
  INJECTOR_CONDITION,
  INJECTOR_CONTAINER,
  SIMULATED_REASON,
  TARGET_LABEL,
} from '../contract.ts'
import { nodeTrouble, podTrouble, type Trouble } from './trouble.ts'

/** A pod or node that is a target or may become one. */
export interface Target extends ObservedObject {
  readonly annotations: Readonly<Record<string, string>>
  /** A running pod, a ready node. */
  readonly isRunning: boolean
  /** The handler container of the pod still runs: its containers wait for the disruption (`onInit`). */
  readonly waitsForInit: boolean
  /** The handler container runs or has succeeded, and the pod is still pending. */
  readonly isStarting?: boolean
  /** The node; empty for a pod that is not scheduled yet. */
  readonly node: string
  readonly ip: string
  /** The running containers and init containers, sorted by name. */
  readonly containers: readonly TargetContainer[]
  /** Absent: nothing is wrong. */
  readonly trouble?: Trouble
  /** The pod has a deletionTimestamp. */
  readonly isDeleting?: true
}

export interface TargetContainer {
  readonly name: string
  /** `containerd://...` */
  readonly id: string
  readonly isInit?: true
}

export function podView(pod: Pod): Target {
  const { phase = '', podIP = '', containerStatuses = [], initContainerStatuses: inits = [] } = pod.status ?? {}
  const containers = [...runningOf(containerStatuses, {}), ...runningOf(inits, { isInit: true })]
  return {
    ...identityOf(pod),
    annotations: pod.metadata.annotations ?? {},
    isRunning: phase === 'Running',
    ...onInitOf(pod),
    node: pod.spec?.nodeName ?? '',
    ip: podIP,
    containers: containers.sort((one, other) => compare(one.name, other.name)),
    ...troubled(podTrouble(pod)),
    ...(pod.metadata.deletionTimestamp !== undefined && { isDeleting: true }),
  }
}

function onInitOf({ metadata, status = {} }: Pod): Pick<Target, 'waitsForInit' | 'isStarting'> {
  const { phase, initContainerStatuses: inits = [] } = status
  const asks = metadata.labels?.[DISRUPT_ON_INIT_LABEL] !== undefined && phase === 'Pending'
  const { running, terminated } = inits.find(({ name }) => name === HANDLER_CONTAINER)?.state ?? {}
  const waits = asks && running !== undefined
  return { waitsForInit: waits, isStarting: waits || (asks && terminated?.exitCode === 0) }
}

export function nodeView(node: Node): Target {
  const isReady = (node.status?.conditions ?? []).some(({ type, status }) => type === 'Ready' && status === 'True')
  return {
    ...identityOf(node),
    annotations: node.metadata.annotations ?? {},
    isRunning: isReady,
    waitsForInit: false,
    node: node.metadata.name,
    ip: '',
    containers: [],
    ...troubled(nodeTrouble(node)),
  }
}

function troubled(trouble: Trouble | undefined): Pick<Target, 'trouble'> {
  return trouble === undefined ? {} : { trouble }
}

/** A chaos pod. */
export interface ChaosPod extends ObservedObject {
  /** The name of the target, from the labels. */
  readonly target: string
  /** The disruption kind, one of `INJECTOR_KINDS`. */
  readonly does: string
  /** The target is the node of the chaos pod. */
  readonly isOfNode?: true
  /** The node of the chaos pod. */
  readonly node?: string
  readonly disruption: string
  readonly disruptionNamespace: string
  readonly phase: string
  readonly isReady: boolean
  readonly isDeleting: boolean
  /** The finalizer of the controller is on the pod. */
  readonly isHeld: boolean
  /** The reason in the pod's status, such as `DeadlineExceeded` or `Evicted`. */
  readonly reason: string
  readonly injector: InjectorState
  /** The reason of a failure, or the simulated commands, as the injector or the node reports them; absent when unknown. */
  readonly message?: string
  /** The target has no process and nothing is disturbed (only in `pawl dev`). */
  readonly isSimulated?: true
  /** All containers have terminated with exit code 0. */
  readonly hasCompleted: boolean
  /** A container runs, or has terminated with another exit code than 0. */
  readonly isDisturbing: boolean
}

/** The state of the injector container; `never`: the pod has no container status. */
export type InjectorState = 'never' | 'waiting' | 'running' | 'startError' | 'completed' | 'failed'

export function chaosPodView(pod: Pod): ChaosPod {
  const { metadata, status = {}, spec } = pod
  const { phase = 'Pending', reason = '', conditions = [], containerStatuses = [] } = status
  const codes = containerStatuses.map(({ state }) => state?.terminated?.exitCode)
  return {
    ...identityOf(pod),
    ...labelFields(metadata),
    ...(isOfNode(spec) && { isOfNode: true }),
    ...(spec?.nodeName !== undefined && { node: spec.nodeName }),
    phase,
    reason,
    injector: injectorState(containerStatuses),
    ...messageFields(pod),
    isReady: conditions.some((one) => one.type === 'Ready' && one.status === 'True'),
    isDeleting: metadata.deletionTimestamp !== undefined,
    isHeld: (metadata.finalizers ?? []).includes(CHAOS_POD_FINALIZER),
    hasCompleted: codes.length > 0 && codes.every((code) => code === 0),
    isDisturbing: codes.length === 0 || codes.some((code) => code !== 0),
  }
}

/** The status is part of every pass. */
const MAX_MESSAGE_LENGTH = 500

function messageFields({ status = {} }: Pod): Pick<ChaosPod, 'message' | 'isSimulated'> {
  const condition = status.conditions?.find(({ type }) => type === INJECTOR_CONDITION)
  const isSimulated = condition?.status === 'True' && condition.reason === SIMULATED_REASON
  const message = (terminationMessage(status) ?? condition?.message ?? '').trim()
  return { ...(message !== '' && { message: truncated(message) }), ...(isSimulated && { isSimulated }) }
}

/** The message of the injector, or else the message of the kubelet that failed the pod. */
function terminationMessage({
  phase,
  message,
  containerStatuses = [],
}: NonNullable<Pod['status']>): string | undefined {
  const ended = containerStatuses.find(({ name }) => name === INJECTOR_CONTAINER)?.state?.terminated
  return ended?.message ?? (phase === 'Failed' ? message : undefined)
}

function truncated(text: string): string {
  return text.length <= MAX_MESSAGE_LENGTH ? text : `${text.slice(0, MAX_MESSAGE_LENGTH - 1)}…`
}

/** Reads the level from the injector's arguments. */
function isOfNode(spec: Pod['spec']): boolean {
  const { args = [] } = spec?.containers.find(({ name }) => name === INJECTOR_CONTAINER) ?? {}
  return args.some((arg, index) => arg === '--level' && args[index + 1] === 'node')
}

/** Identifies a disruption kind on a target. */
export function injectionKey({ target, does }: Pick<ChaosPod, 'target' | 'does'>): string {
  return `${does} ${target}`
}

/** Reads target, kind and Disruption from the labels. */
function labelFields({ labels = {}, annotations = {} }: Pod['metadata']) {
  return {
    // A label value has at most 63 characters; the annotation contains longer names.
    target: annotations[TARGET_LABEL] ?? labels[TARGET_LABEL] ?? '',
    does: labels[DISRUPTION_KIND_LABEL] ?? '',
    disruption: labels[DISRUPTION_NAME_LABEL] ?? '',
    disruptionNamespace: labels[DISRUPTION_NAMESPACE_LABEL] ?? '',
  }
}

type ContainerStatus = NonNullable<NonNullable<Pod['status']>['containerStatuses']>[number]

function injectorState(containers: readonly ContainerStatus[]): InjectorState {
  const injector = containers.find(({ name }) => name === INJECTOR_CONTAINER)
  if (injector === undefined) return containers.length === 0 ? 'never' : 'waiting'
  const { terminated, running } = injector.state ?? {}
  if (running !== undefined) return 'running'
  if (terminated === undefined) return 'waiting'
  if (terminated.reason === 'StartError') return 'startError'
  return terminated.exitCode === 0 ? 'completed' : 'failed'
}

function runningOf(
  statuses: readonly ContainerStatus[],
  also: Pick<TargetContainer, 'isInit'>,
): readonly TargetContainer[] {
  return statuses.flatMap(({ name, containerID, state }) =>
    state?.running === undefined || containerID === undefined ? [] : [{ name, id: containerID, ...also }],
  )
}

function identityOf({
  metadata,
  apiVersion,
  kind,
}: Pick<Pod | Node, 'apiVersion' | 'kind' | 'metadata'>): ObservedObject {
  const { name, uid, resourceVersion } = metadata
  const { namespace } = metadata as { readonly namespace?: string }
  return { apiVersion, kind, metadata: { name, uid, resourceVersion, ...(namespace !== undefined && { namespace }) } }
}

function compare(one: string, other: string): number {
  if (one === other) return 0
  return one < other ? -1 : 1
}
