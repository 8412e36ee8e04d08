// Builds the status of a pod from the state of its processes, and compares it with the present status. Source:
// Kubernetes, the kubelet's reasons and rules of phases.

import type { PodCondition, PodState } from '../../activities/pods.ts'
import type { AgentPod, ContainerSpec } from './agent-pod.ts'
import type { ContainerStatus, PodStatus, StatusCondition } from './status-fields.ts'
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

function comparableContainer({ name, ready, started, restartCount, state = {}, lastState = {} }: ContainerStatus) {
  const { waiting, running, terminated } = state
  return [
    ...[name, ready ?? false, started ?? false, restartCount ?? 0, waiting?.reason, waiting?.message],
    ...[running !== undefined, terminated?.exitCode, terminated?.reason, terminated?.message],
    ...[lastState.terminated?.exitCode, lastState.terminated?.reason],
  ]
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
  Pending: 'ContainersNotReady',
  Running: 'ContainersNotReady',
  Succeeded: 'PodCompleted',
  Failed: 'PodFailed',
} as const

function conditionsOf(
  { pod, facts, nowMs, conditions }: StatusInput,
  phase: PodState['phase'],
  containers: readonly ContainerStatus[],
): readonly StatusCondition[] {
  const current = pod.status.conditions ?? []
  const isReady = phase === 'Running' && containers.every(({ ready }) => ready === true)
  const isInitialized = phase === 'Succeeded' || pod.init.every((one) => hasSucceeded(factsOf(facts, one)))
  const unreadyNames = containers.filter(({ ready }) => ready !== true).map(({ name }) => name)
  const ready = isReady
    ? { status: 'True' }
    : {
        status: 'False',
        reason: UNREADY_REASONS[phase],
        ...(phase === 'Running' && { message: `containers with unready status: [${unreadyNames.join(' ')}]` }),
      }
  const gate = unmetGate(pod)
  const next: readonly PodCondition[] = [
    {
      type: 'Initialized',
      ...(isInitialized ? { status: 'True' } : { status: 'False', reason: 'ContainersNotInitialized' }),
      ...(phase === 'Succeeded' && { reason: UNREADY_REASONS.Succeeded }),
    },
    {
      type: 'Ready',
      ...(isReady && gate !== undefined
        ? { status: 'False', reason: 'ReadinessGatesNotReady', message: `condition "${gate}" is not True` }
        : ready),
    },
    { type: 'ContainersReady', ...ready },
    ...(conditions?.of(phase, isReady) ?? []),
  ]
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
  const { pod, facts, decision } = input
  const { run, restarts, last } = factsOf(facts, spec)
  const containerID = `pawl://${pod.uid}/${spec.name}`
  const common = { name: spec.name, image: spec.image, imageID: '', restartCount: restarts, containerID }
  const lastState = last === undefined ? {} : { lastState: { terminated: terminated(last, containerID) } }
  if (run.state === 'running') {
    const state = { running: { startedAt: timeText(run.startedMs) } }
    return { ...common, ready: run.isStarted && run.isReady, started: run.isStarted, state, ...lastState }
  }
  const ready = spec.isInit && run.state === 'ended' && isSuccess(run.exit)
  const stopped = { ...common, ready, started: false }
  if (run.state === 'ended') {
    const delayMs = decision.backOff[spec.name]
    if (delayMs === undefined || decision.end !== undefined)
      return { ...stopped, state: { terminated: terminated(run, containerID) }, ...lastState }
    const message = `back-off ${delayMs / 1000}s restarting failed container=${spec.name} pod=${pod.name}_${pod.namespace}(${pod.uid})`
    return {
      ...stopped,
      state: { waiting: { reason: 'CrashLoopBackOff', message } },
      lastState: { terminated: terminated(run, containerID) },
    }
  }
  if (decision.end !== undefined && facts.acceptedMs === undefined) {
    const lost: EndedRun = { state: 'ended', startedMs: undefined, finishedMs: input.nowMs, exit: { how: 'lost' } }
    return { ...stopped, state: { terminated: terminated(lost, containerID) } }
  }
  const isInitializing = !spec.isInit && pod.init.some((one) => !hasSucceeded(factsOf(facts, one)))
  const reason = isInitializing ? 'PodInitializing' : 'ContainerCreating'
  return { ...stopped, state: { waiting: input.waiting[spec.name] ?? { reason } }, ...lastState }
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
