// What a pass sees of pods and nodes: as little as it decides by, for there may be thousands. The views are called by the activities that read.

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

/** A pod or a node that may be, or is, a target. */
export interface Target extends ObservedObject {
  readonly annotations: Readonly<Record<string, string>>
  /** A pod that runs, a node that is ready. */
  readonly isRunning: boolean
  /** A pod whose containers wait for the disruption (`onInit`). */
  readonly waitsForInit: boolean
  /** A pod whose containers have waited for it, and do not run yet. */
  readonly isStarting?: boolean
  /** Where it is; empty for a pod that is nowhere yet. */
  readonly node: string
  readonly ip: string
  /** Those that run, by name, in order of their names; init containers too. */
  readonly containers: readonly TargetContainer[]
  /** Absent: it is well. */
  readonly trouble?: Trouble
  /** A pod that is being deleted. */
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

/** One chaos pod of the Disruption. */
export interface ChaosPod extends ObservedObject {
  /** By its labels. */
  readonly target: string
  /** Of `INJECTOR_KINDS`. */
  readonly does: string
  /** It is the node that it runs on. */
  readonly isOfNode?: true
  /** Where it runs. */
  readonly node?: string
  readonly disruption: string
  readonly disruptionNamespace: string
  readonly phase: string
  readonly isReady: boolean
  readonly isDeleting: boolean
  /** Ours is still on it. */
  readonly isHeld: boolean
  /** `DeadlineExceeded`, `Evicted`; of the pod. */
  readonly reason: string
  readonly injector: InjectorState
  /** The reason of a failure, or the simulated commands, as the injector or the node reports them; absent when unknown. */
  readonly message?: string
  /** Its target has no process, and nothing is disturbed (in `pawl dev` alone). */
  readonly isSimulated?: true
  /** All containers have ended with exit code 0. */
  readonly hasCompleted: boolean
  /** One container runs, or has ended otherwise than well. */
  readonly isDisturbing: boolean
}

/** Of its container: `never` had one, `waiting` to be started, and so on. */
export type InjectorState = 'never' | 'waiting' | 'running' | 'startError' | 'completed' | 'failed'

export function chaosPodView(pod: Pod): ChaosPod {
  const { metadata, status = {}, spec } = pod
  const { phase = 'Pending', reason = '', conditions = [], containerStatuses = [] } = status
  const codes = containerStatuses.map(({ state }) => state?.terminated?.exitCode)
  return {
    ...identityOf(pod),
    ...madeAs(metadata),
    ...(isOfNode(spec) && { isOfNode: true }),
    ...(spec?.nodeName !== undefined && { node: spec.nodeName }),
    phase,
    reason,
    injector: injectorState(containerStatuses),
    ...saidBy(pod),
    isReady: conditions.some((one) => one.type === 'Ready' && one.status === 'True'),
    isDeleting: metadata.deletionTimestamp !== undefined,
    isHeld: (metadata.finalizers ?? []).includes(CHAOS_POD_FINALIZER),
    hasCompleted: codes.length > 0 && codes.every((code) => code === 0),
    isDisturbing: codes.length === 0 || codes.some((code) => code !== 0),
  }
}

/** The status travels with every pass. */
const LONGEST_MESSAGE = 500

function saidBy({ status = {} }: Pod): Pick<ChaosPod, 'message' | 'isSimulated'> {
  const condition = status.conditions?.find(({ type }) => type === INJECTOR_CONDITION)
  const isSimulated = condition?.status === 'True' && condition.reason === SIMULATED_REASON
  const message = (endMessage(status) ?? condition?.message ?? '').trim()
  return { ...(message !== '' && { message: shortened(message) }), ...(isSimulated && { isSimulated }) }
}

/** Of the injector, else of the node that has ended the pod. */
function endMessage({ phase, message, containerStatuses = [] }: NonNullable<Pod['status']>): string | undefined {
  const ended = containerStatuses.find(({ name }) => name === INJECTOR_CONTAINER)?.state?.terminated
  return ended?.message ?? (phase === 'Failed' ? message : undefined)
}

function shortened(text: string): string {
  return text.length <= LONGEST_MESSAGE ? text : `${text.slice(0, LONGEST_MESSAGE - 1)}…`
}

/** As its injector is called. */
function isOfNode(spec: Pod['spec']): boolean {
  const { args = [] } = spec?.containers.find(({ name }) => name === INJECTOR_CONTAINER) ?? {}
  return args.some((arg, index) => arg === '--level' && args[index + 1] === 'node')
}

/** What its labels say that it is for. */
function madeAs({ labels = {}, annotations = {} }: Pod['metadata']) {
  return {
    // A label has no room for every name; then the annotation has it.
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
  return one < other ? -1 : one > other ? 1 : 0
}
