// Decides the node agent's next steps for a pod, as a kubelet would: from the pod, the state of its processes, and the
// time. Timestamps are milliseconds since the epoch.
//
// D1. The agent starts at most one process for each restart of a container, and none for a pod that is being deleted.
// D2. The agent signals a process once to terminate, and kills its process group after the grace period.
// D3. A pod ends only after its processes have ended.
// D4. A pod that is being deleted is released after the agent has reported how it ended. Finalizers of other
//   controllers keep it longer.
// D5. If the pod is deleted, the agent ends its processes and cleans up.
// D6. Init containers run one after the other, and the other containers start after the last one has succeeded.
// D7. A running container whose image in the pod has changed is terminated, and starts again with the new image,
//   for every restart policy.

import type { AgentPod, ContainerSpec } from './agent-pod.ts'

/** The reason why the agent terminates processes. `agent`: it ends itself, and its successor restarts the containers. */
export type EndReason = 'agent' | 'deadline' | 'deleted' | 'gone' | 'image' | 'unhealthy'

/** How a process has ended. */
export type Exit =
  | { readonly how: 'exited'; readonly code: number }
  /** The process could not be started. */
  | { readonly how: 'unstarted'; readonly message: string }
  /** The process died unobserved, or its record is lost. */
  | { readonly how: 'lost' }

export interface Ending {
  readonly why: EndReason
  readonly sinceMs: number
  readonly graceMs: number
  /** The grace period has passed and the process group was killed. */
  readonly isKilled: boolean
}

export interface EndedRun {
  readonly state: 'ended'
  /** Undefined: the process has not started. */
  readonly startedMs: number | undefined
  readonly finishedMs: number
  readonly exit: Exit
  /** The termination message. */
  readonly message?: string
  /** The image of the run; undefined: the record of an earlier agent has none. */
  readonly image?: string
  /** Set if the agent terminated the process. */
  readonly why?: EndReason
}

/** The process of a container since its last start. */
export type ContainerRun =
  | { readonly state: 'none' }
  /** The process is being started. */
  | { readonly state: 'starting' }
  | {
      readonly state: 'running'
      readonly startedMs: number
      /** The startup probe has succeeded. */
      readonly isStarted: boolean
      readonly isReady: boolean
      /** The startup or liveness probe has failed. */
      readonly isUnhealthy: boolean
      readonly message?: string
      /** As in `EndedRun`. */
      readonly image?: string
      /** Set if only this container is being terminated. */
      readonly ending?: Ending
    }
  | EndedRun

export interface ContainerFacts {
  readonly run: ContainerRun
  /** The number of restarts. */
  readonly restarts: number
  /** The number of consecutive runs that ended soon, including the present one if it has ended. */
  readonly crashes: number
  /** The run before the last start. */
  readonly last?: EndedRun
}

/** The pod on this machine. */
export interface PodFacts {
  /** The pod's `startTime`: when the agent accepted the pod. Undefined: it has no record of the pod. */
  readonly acceptedMs: number | undefined
  readonly ending: Ending | undefined
  readonly containers: Readonly<Record<string, ContainerFacts>>
}

export type Action =
  /** Record the pod, and create its volumes. */
  | { readonly do: 'accept' }
  | { readonly do: 'start'; readonly container: string }
  /** End the processes of the pod, or of one container. */
  | { readonly do: 'terminate'; readonly container?: string; readonly why: EndReason; readonly graceMs: number }
  | { readonly do: 'kill'; readonly container?: string }
  /** Clean up after the processes and delete the record. */
  | { readonly do: 'sweep' }

/** The pod's end, which is reported once. */
export interface PodEnd {
  readonly phase: 'Succeeded' | 'Failed'
  /** The reason of the pod; absent: the pod's status has only the reasons of its containers. */
  readonly reason?: string
  readonly message?: string
}

export interface Decision {
  readonly act: readonly Action[]
  /** Whether to report the pod's state. */
  readonly report: boolean
  /** Set when the pod has ended. */
  readonly end: PodEnd | undefined
  /** Whether to delete the pod for good; never before its end was reported. */
  readonly release: boolean
  /** When time alone changes the decision; undefined: never. */
  readonly againMs: number | undefined
  /** When containers that have crashed start again, by name. */
  readonly backOff: Readonly<Record<string, number>>
}

export interface Settings {
  /** The first delay of repeated restarts, which doubles. */
  readonly restartDelayMs: number
}

const NO_ACTION: Decision = {
  act: [],
  report: false,
  end: undefined,
  release: false,
  againMs: undefined,
  backOff: {},
}

// Source: Kubernetes, the kubelet's constants: the maximum delay, and the run time after which a crash counts as the first.
const MAX_RESTART_DELAY_MS = 300_000
export const STABLE_MS = 600_000
// The grace period of processes whose pod is gone.
const GONE_GRACE_MS = 60_000
const DEADLINE_END = {
  phase: 'Failed',
  reason: 'DeadlineExceeded',
  message: 'Pod was active on the node longer than the specified deadline',
} as const

/** @param pod undefined if it is deleted. */
export function decide(pod: AgentPod | undefined, facts: PodFacts, nowMs: number, settings: Settings): Decision {
  if (pod === undefined) return forDeletedPod(facts, nowMs)
  if (facts.acceptedMs === undefined) return forUnknownPod(pod)
  const deadlineMs = pod.activeDeadlineMs === undefined ? undefined : facts.acceptedMs + pod.activeDeadlineMs - nowMs
  return hasProcess(facts)
    ? forActivePod(pod, facts, { nowMs, settings, deadlineMs })
    : forIdlePod(pod, facts, { nowMs, settings, deadlineMs })
}

interface Times {
  readonly nowMs: number
  readonly settings: Settings
  /** The time until the pod's deadline; undefined: it has none. */
  readonly deadlineMs: number | undefined
}

function forActivePod(pod: AgentPod, facts: PodFacts, times: Times): Decision {
  if (facts.ending !== undefined)
    return { ...NO_ACTION, report: !hasEnded(pod), ...whileEnding(facts.ending, times.nowMs) }
  if (isPast(times.deadlineMs)) return ending(pod, 'deadline', pod.graceMs)
  // A pod that another client has marked as ended is treated as deleted.
  if (pod.deletion !== undefined || hasEnded(pod)) return ending(pod, 'deleted', (pod.deletion ?? pod).graceMs)
  return next(pod, facts, times)
}

function forIdlePod(pod: AgentPod, facts: PodFacts, times: Times): Decision {
  if (facts.ending?.why === 'deadline') return endOf(pod, DEADLINE_END)
  if (facts.ending !== undefined || pod.deletion !== undefined || hasEnded(pod))
    return endOf(pod, { phase: phaseAtEnd(facts) })
  return isPast(times.deadlineMs) ? endOf(pod, DEADLINE_END) : next(pod, facts, times)
}

function isPast(leftMs: number | undefined): boolean {
  return leftMs !== undefined && leftMs <= 0
}

function next(pod: AgentPod, facts: PodFacts, times: Times): Decision {
  const { act, backOff, end, againMs } = nextStarts(pod, facts, times)
  if (end !== undefined) return endOf(pod, end)
  return { ...NO_ACTION, report: true, act, backOff, againMs: soonest([againMs, times.deadlineMs]) }
}

function ending(pod: AgentPod, why: EndReason, graceMs: number): Decision {
  return { ...NO_ACTION, report: !hasEnded(pod), act: [{ do: 'terminate', why, graceMs }] }
}

function endOf(pod: AgentPod, end: PodEnd): Decision {
  return hasEnded(pod) ? { ...NO_ACTION, release: mayRelease(pod) } : { ...NO_ACTION, report: true, end }
}

/** No process of this pod runs, because each process has a record. */
function forUnknownPod(pod: AgentPod): Decision {
  if (hasEnded(pod) || (pod.deletion !== undefined && pod.phase === 'Pending'))
    return { ...NO_ACTION, release: mayRelease(pod) }
  // The containers of a running pod are lost; a new start is a restart.
  if (pod.phase !== 'Pending' && (pod.deletion !== undefined || pod.restartPolicy === 'Never'))
    return { ...NO_ACTION, report: true, end: { phase: 'Failed' } }
  return { ...NO_ACTION, act: [{ do: 'accept' }] }
}

/** D5 */
function forDeletedPod(facts: PodFacts, nowMs: number): Decision {
  if (!hasProcess(facts)) return { ...NO_ACTION, act: [{ do: 'sweep' }] }
  if (facts.ending !== undefined) return { ...NO_ACTION, ...whileEnding(facts.ending, nowMs) }
  return { ...NO_ACTION, act: [{ do: 'terminate', why: 'gone', graceMs: GONE_GRACE_MS }] }
}

/** D2 */
function whileEnding(
  { sinceMs, graceMs, isKilled }: Ending,
  nowMs: number,
  container?: string,
): Pick<Decision, 'act' | 'againMs'> {
  const leftMs = sinceMs + graceMs - nowMs
  if (isKilled || leftMs > 0) return { act: [], againMs: isKilled ? undefined : leftMs }
  return { act: [{ do: 'kill', ...(container !== undefined && { container }) }], againMs: undefined }
}

interface NextStarts extends Pick<Decision, 'act' | 'againMs' | 'backOff' | 'end'> {
  /** All containers of the list have ended for good. */
  readonly areDone: boolean
}

/** D6 */
function nextStarts(pod: AgentPod, facts: PodFacts, times: Times): NextStarts {
  for (const one of pod.init) {
    const { run } = factsOf(facts, one)
    if (run.state === 'ended' && isSuccess(run.exit)) continue
    const start = nextStart(one, pod, facts, times)
    return start.areDone ? { ...start, end: { phase: 'Failed' } } : start
  }
  const all = pod.containers.map((one) => nextStart(one, pod, facts, times))
  return {
    act: all.flatMap(({ act }) => act),
    backOff: Object.assign({}, ...all.map(({ backOff }) => backOff)) as Decision['backOff'],
    againMs: soonest(all.map(({ againMs }) => againMs)),
    areDone: all.every(({ areDone }) => areDone),
    end: all.every(({ areDone }) => areDone) ? { phase: phaseAtEnd(facts) } : undefined,
  }
}

function nextStart(
  spec: ContainerSpec,
  pod: AgentPod,
  facts: PodFacts,
  { nowMs, settings: { restartDelayMs } }: Times,
): NextStarts {
  const { name, isInit } = spec
  const { run, crashes } = factsOf(facts, spec)
  const waiting = { act: [], againMs: undefined, backOff: {}, end: undefined, areDone: false }
  if (run.state === 'none') return { ...waiting, act: [{ do: 'start', container: name }] }
  if (run.state === 'starting') return waiting
  if (run.state === 'running') {
    if (run.ending !== undefined) return { ...waiting, ...whileEnding(run.ending, nowMs, name) }
    const why = restartReason(run, spec)
    if (why === undefined) return waiting
    return { ...waiting, act: [{ do: 'terminate', container: name, why, graceMs: pod.graceMs }] }
  }
  if (isOver(run, isInit, pod)) return { ...waiting, areDone: true }
  const delayMs = restartDelay(hasOtherImage(run, spec.image) ? 0 : crashes, restartDelayMs)
  const leftMs = run.finishedMs + delayMs - nowMs
  if (leftMs <= 0) return { ...waiting, act: [{ do: 'start', container: name }] }
  return { ...waiting, againMs: leftMs, backOff: { [name]: delayMs } }
}

/** The reason why a running container is restarted; undefined: it continues. */
function restartReason(
  run: { readonly isUnhealthy: boolean; readonly image?: string },
  { isInit, image }: ContainerSpec,
): EndReason | undefined {
  if (run.isUnhealthy) return 'unhealthy'
  return !isInit && hasOtherImage(run, image) ? 'image' : undefined
}

/** The first restart is immediate. */
function restartDelay(crashes: number, firstMs: number): number {
  return crashes < 2 ? 0 : Math.min(firstMs * 2 ** (crashes - 2), MAX_RESTART_DELAY_MS)
}

/** D7 */
function isOver({ exit, why }: EndedRun, isInit: boolean, { restartPolicy }: AgentPod): boolean {
  if (why === 'image') return false
  return restartPolicy === 'Never' || ((restartPolicy === 'OnFailure' || isInit) && isSuccess(exit))
}

/** @param image of the pod. */
export function hasOtherImage(run: { readonly image?: string }, image: string): boolean {
  return run.image !== undefined && run.image !== image
}

export function factsOf(facts: PodFacts, { name }: Pick<ContainerSpec, 'name'>): ContainerFacts {
  return facts.containers[name] ?? { run: { state: 'none' }, restarts: 0, crashes: 0 }
}

function hasProcess({ containers }: PodFacts): boolean {
  return Object.values(containers).some(({ run }) => run.state === 'running' || run.state === 'starting')
}

function phaseAtEnd({ containers }: PodFacts): 'Succeeded' | 'Failed' {
  const isWell = Object.values(containers).every(({ run }) => run.state === 'ended' && isSuccess(run.exit))
  return isWell ? 'Succeeded' : 'Failed'
}

export function isSuccess(exit: Exit): boolean {
  return exit.how === 'exited' && exit.code === 0
}

export function hasEnded({ phase }: Pick<AgentPod, 'phase'>): boolean {
  return phase === 'Succeeded' || phase === 'Failed'
}

// With a grace period of 0 the API server deletes the pod by itself.
function mayRelease({ deletion }: AgentPod): boolean {
  return deletion !== undefined && deletion.graceMs > 0
}

export function soonest(delays: readonly (number | undefined)[]): number | undefined {
  const given = delays.filter((delay) => delay !== undefined)
  return given.length === 0 ? undefined : Math.min(...given)
}
