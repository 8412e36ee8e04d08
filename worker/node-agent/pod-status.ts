// Builds the status of a pod from the state of its processes, and compares it with the present status. Source:
// Kubernetes, the kubelet's reasons and rules of phases.

import type { PodCondition, PodState } from '../../activities/pods.ts'
import type { AgentPod, ContainerSpec } from './agent-pod.ts'
import type { ContainerState, ContainerStatus, PodStatus, StatusCondition } from './status-fields.ts'
import {
  type ContainerFacts,
  type Decision,
  type EndedRun,
  type Exit,
  factsOf,
  isSuccess,
  type PodFacts,
} from './decide.ts'

export interface StatusInput {
  readonly pod: AgentPod
  readonly facts: PodFacts
  readonly decision: Pick<Decision, 'end' | 'backOff'>
  readonly hostIP: string
  readonly podIP: string
  /** Why a container cannot start yet, by name. */
  readonly waiting: Readonly<Record<string, { readonly reason: string; readonly message: string }>>
  readonly nowMs: number
  /** Additional conditions of the pod. */
  readonly conditions?: {
    readonly types: readonly string[]
    readonly of: (phase: PodState['phase'], isReady: boolean) => readonly PodCondition[]
  }
}

/** The merge patch of the status; undefined if the status is up to date. */
export function statusPatch(input: StatusInput): Readonly<Record<string, unknown>> | undefined {
  const { pod, facts, decision, hostIP, podIP, nowMs } = input
  const { status } = pod
  const init = pod.init.map((one) => containerStatus(one, input))
  const containers = pod.containers.map((one) => containerStatus(one, input))
  const phase = decision.end?.phase ?? phaseOf(pod, facts)
  const next: PodStatus = {
    phase,
    ...(decision.end?.reason !== undefined && { reason: decision.end.reason }),
    ...(decision.end?.message !== undefined && { message: decision.end.message }),
    hostIP,
    podIP,
    startTime: status.startTime ?? timeText(facts.acceptedMs ?? nowMs),
    conditions: conditionsOf(input, phase, containers),
    ...(init.length > 0 && { initContainerStatuses: init }),
    containerStatuses: containers,
  }
  if (comparable(status) === comparable(next)) return undefined
  return { ...next, hostIPs: [{ ip: hostIP }], podIPs: [{ ip: podIP }] }
}

/** The fields that differ only if something has changed; timestamps keep their first values. */
function comparable(status: PodStatus): string {
  const { phase, reason, message, podIP, conditions = [], initContainerStatuses = [], containerStatuses = [] } = status
  const states = [...initContainerStatuses, ...containerStatuses].map(comparableContainer)
  const shown = conditions.map((one) => [one.type, one.status, one.reason ?? '', one.message ?? ''])
  return JSON.stringify([phase, reason, message, podIP, shown.sort(), states])
}

function comparableContainer(status: ContainerStatus) {
  const { name, ready = false, started = false, restartCount = 0, state, lastState } = status
  return [name, ready, started, restartCount, comparableState(state), comparableState(lastState)]
}

function comparableState({ waiting, running, terminated }: ContainerState = {}) {
  const end = terminated && [terminated.exitCode, terminated.reason, terminated.message]
  return [waiting?.reason, waiting?.message, running !== undefined, end]
}

function phaseOf(pod: AgentPod, facts: PodFacts): 'Pending' | 'Running' {
  const isInitialized = pod.init.every((one) => hasSucceeded(factsOf(facts, one)))
  const haveStarted = pod.containers.every((one) => hasStarted(factsOf(facts, one)))
  return isInitialized && haveStarted ? 'Running' : 'Pending'
}

function hasSucceeded({ run }: ContainerFacts): boolean {
  return run.state === 'ended' && isSuccess(run.exit)
}

function hasStarted({ run, last }: ContainerFacts): boolean {
  return last !== undefined || run.state === 'running' || run.state === 'ended'
}

const UNREADY_REASONS = {
  Pending: { reason: 'ContainersNotReady' },
  Running: { reason: 'ContainersNotReady' },
  Succeeded: { reason: 'PodCompleted' },
  Failed: { reason: 'PodFailed' },
} as const

function conditionsOf(
  input: StatusInput,
  phase: PodState['phase'],
  containers: readonly ContainerStatus[],
): readonly StatusCondition[] {
  const { pod, nowMs, conditions } = input
  const current = pod.status.conditions ?? []
  const isReady = phase === 'Running' && containers.every(({ ready }) => ready === true)
  const next = [...usualConditions(input, phase, containers), ...(conditions?.of(phase, isReady) ?? [])]
  const ownTypes = new Set([...(conditions?.types ?? []), ...next.map(({ type }) => type)])
  return [
    ...current.filter(({ type }) => !ownTypes.has(type)),
    ...next.map((one) => {
      const before = current.find(({ type }) => type === one.type)
      const isSame = before?.status === one.status && before.lastTransitionTime !== undefined
      return { ...one, lastTransitionTime: isSame ? before.lastTransitionTime : timeText(nowMs) }
    }),
  ]
}

function usualConditions(
  { pod, facts }: StatusInput,
  phase: PodState['phase'],
  containers: readonly ContainerStatus[],
): readonly PodCondition[] {
  const isInitialized = phase === 'Succeeded' || pod.init.every((one) => hasSucceeded(factsOf(facts, one)))
  const ready = readiness(phase, containers)
  const gate = ready.status === 'True' ? unmetGate(pod) : undefined
  const closed = { status: 'False', reason: 'ReadinessGatesNotReady', message: `condition "${gate ?? ''}" is not True` }
  return [
    {
      type: 'Initialized',
      ...(isInitialized ? { status: 'True' } : { status: 'False', reason: 'ContainersNotInitialized' }),
      ...(phase === 'Succeeded' && UNREADY_REASONS.Succeeded),
    },
    { type: 'Ready', ...(gate === undefined ? ready : closed) },
    { type: 'ContainersReady', ...ready },
  ]
}

function readiness(phase: PodState['phase'], containers: readonly ContainerStatus[]): Omit<PodCondition, 'type'> {
  const unready = containers.filter(({ ready }) => ready !== true).map(({ name }) => name)
  if (phase === 'Running' && unready.length === 0) return { status: 'True' }
  const message = phase === 'Running' ? { message: `containers with unready status: [${unready.join(' ')}]` } : {}
  return { status: 'False', ...UNREADY_REASONS[phase], ...message }
}

/** The first readiness gate whose condition is not True. */
function unmetGate({ object, status }: AgentPod): string | undefined {
  const { spec = {} } = object as {
    readonly spec?: { readonly readinessGates?: readonly { readonly conditionType: string }[] }
  }
  return (spec.readinessGates ?? []).find(
    ({ conditionType }) =>
      !(status.conditions ?? []).some(({ type, status: is }) => type === conditionType && is === 'True'),
  )?.conditionType
}

function containerStatus(spec: ContainerSpec, input: StatusInput): ContainerStatus {
  const { pod, facts } = input
  const { run, restarts, last } = factsOf(facts, spec)
  const containerID = `pawl://${pod.uid}/${spec.name}`
  const isStarted = run.state === 'running' && run.isStarted
  const isDone = spec.isInit && hasSucceeded(factsOf(facts, spec))
  return {
    name: spec.name,
    image: ((run.state === 'running' || run.state === 'ended') && run.image) || spec.image,
    imageID: '',
    containerID,
    restartCount: restarts,
    ready: run.state === 'running' ? isStarted && run.isReady : isDone,
    started: isStarted,
    ...(last !== undefined && { lastState: { terminated: terminated(last, containerID) } }),
    ...containerStates(spec, input, containerID),
  }
}

function containerStates(
  spec: ContainerSpec,
  input: StatusInput,
  containerID: string,
): Pick<ContainerStatus, 'state' | 'lastState'> {
  const { facts, decision } = input
  const { run } = factsOf(facts, spec)
  if (run.state === 'running') return { state: { running: { startedAt: timeText(run.startedMs) } } }
  if (run.state === 'ended') {
    const end = { terminated: terminated(run, containerID) }
    const delayMs = decision.backOff[spec.name]
    return delayMs === undefined
      ? { state: end }
      : { state: { waiting: backOff(spec, input, delayMs) }, lastState: end }
  }
  if (decision.end === undefined || facts.acceptedMs !== undefined)
    return { state: { waiting: waitingFor(spec, input) } }
  const lost: EndedRun = { state: 'ended', startedMs: undefined, finishedMs: input.nowMs, exit: { how: 'lost' } }
  return { state: { terminated: terminated(lost, containerID) } }
}

function backOff({ name }: ContainerSpec, { pod }: StatusInput, delayMs: number) {
  const message = `back-off ${delayMs / 1000}s restarting failed container=${name} pod=${pod.name}_${pod.namespace}(${pod.uid})`
  return { reason: 'CrashLoopBackOff', message }
}

function waitingFor({ name, isInit }: ContainerSpec, { pod, facts, waiting }: StatusInput) {
  const isInitializing = !isInit && pod.init.some((one) => !hasSucceeded(factsOf(facts, one)))
  return waiting[name] ?? { reason: isInitializing ? 'PodInitializing' : 'ContainerCreating' }
}

function terminated({ startedMs, finishedMs, exit, message }: EndedRun, containerID: string) {
  const end = containerEnd(exit)
  const times = { startedAt: timeText(startedMs ?? finishedMs), finishedAt: timeText(finishedMs) }
  return {
    ...end,
    // As in the kubelet, the termination message of the process becomes the message of the container.
    ...(message !== undefined && message !== '' && { message: message.slice(0, MAX_MESSAGE_LENGTH) }),
    ...times,
    containerID,
  }
}

const MAX_MESSAGE_LENGTH = 4096

/** With the kubelet's reasons and exit codes. */
function containerEnd(exit: Exit): { readonly exitCode: number; readonly reason: string; readonly message?: string } {
  switch (exit.how) {
    case 'exited':
      return { exitCode: exit.code, reason: exit.code === 0 ? 'Completed' : 'Error' }
    case 'unstarted':
      return { exitCode: 128, reason: 'StartError', message: exit.message }
    case 'lost':
      return {
        exitCode: 137,
        reason: 'ContainerStatusUnknown',
        message: 'the process ended, and its exit code is unknown',
      }
  }
}

/** A Kubernetes timestamp: whole seconds of UTC. */
export function timeText(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19)}Z`
}
