// The status of a chaos pod in the form that Kubernetes has for it, and whether a pod shows it already.

import { INJECTOR_CONDITION, INJECTOR_CONTAINER, SIMULATED_REASON } from '../contract.ts'
import type { Report } from './decide.ts'

/** The fields of a pod's status that an agent writes, as they travel. */
export interface PodStatus {
  readonly phase?: string
  readonly reason?: string
  readonly message?: string
  readonly startTime?: string
  readonly hostIP?: string
  readonly podIP?: string
  readonly conditions?: readonly PodCondition[]
  readonly containerStatuses?: readonly ContainerStatus[]
}

export interface PodCondition {
  readonly type: string
  readonly status: string
  readonly reason?: string
  readonly message?: string
  readonly lastTransitionTime?: string
}

export interface ContainerStatus {
  readonly name: string
  readonly ready?: boolean
  readonly started?: boolean
  readonly state?: ContainerState
}

interface ContainerState {
  readonly running?: { readonly startedAt?: string }
  readonly terminated?: { readonly exitCode: number; readonly reason?: string }
  readonly waiting?: unknown
}

/** What the agent says of the place. */
export interface Place {
  readonly hostIP: string
  readonly podIP: string
  readonly image: string
  /** Names the process, such as `pawl://UID`. */
  readonly containerID: string
}

export interface Clock {
  readonly nowMs: number
  /** Milliseconds since 1970 as Kubernetes writes them, in whole seconds of UTC. */
  readonly timeOf: (ms: number) => string
}

/** The merge patch of a status; undefined when it says all of it already. */
export function statusPatch(
  current: PodStatus,
  report: Report,
  place: Place,
  { nowMs, timeOf }: Clock,
): Readonly<Record<string, unknown>> | undefined {
  if (isShown(current, report)) return undefined
  return {
    phase: report.phase,
    hostIP: place.hostIP,
    podIP: place.podIP,
    startTime: current.startTime ?? timeOf(report.acceptedMs),
    ...(report.phase !== 'Running' && report.reason !== undefined && { reason: report.reason }),
    ...(report.phase !== 'Running' && report.message !== undefined && { message: report.message }),
    conditions: conditionsOf(current.conditions ?? [], report, timeOf(nowMs)),
    containerStatuses: [containerOf(report, place, timeOf)],
  }
}

/** The same words, whatever the times: those were said when it began. */
function isShown(current: PodStatus, report: Report): boolean {
  const ready = current.conditions?.find(({ type }) => type === 'Ready')?.status
  const isSame = current.phase === report.phase && ready === (isReady(report) ? 'True' : 'False')
  return isSame && isMessageShown(current, report) && isEndShown(current, report)
}

function isMessageShown({ conditions = [] }: PodStatus, report: Report): boolean {
  const shown = conditions.find(({ type }) => type === INJECTOR_CONDITION)
  const [wanted] = injectorCondition(report)
  return shown?.status === wanted?.status && shown?.message === wanted?.message
}

function isEndShown({ containerStatuses = [], reason }: PodStatus, report: Report): boolean {
  const state = containerStatuses.find(({ name }) => name === INJECTOR_CONTAINER)?.state
  if (report.phase === 'Running') return state?.running !== undefined
  return state?.terminated?.exitCode === report.container.exitCode && reason === report.reason
}

function isReady(report: Report): boolean {
  return report.phase === 'Running' && report.isReady
}

/** None where the injector has said nothing. */
function injectorCondition(report: Report): readonly PodCondition[] {
  const { said, phase } = report
  if (said === undefined || said.message === '') return []
  // A condition is no place for a book.
  const message = said.message.slice(0, LONGEST_MESSAGE)
  // What fails in a simulation is not simulated.
  const state =
    said.isSimulated && (isReady(report) || phase === 'Succeeded')
      ? { status: 'True', reason: SIMULATED_REASON }
      : { status: 'False', reason: 'NotInjected' }
  return [{ type: INJECTOR_CONDITION, ...state, message }]
}

const LONGEST_MESSAGE = 2000

/** Source: Kubernetes, as the kubelet has it. */
const UNREADY = {
  Running: { reason: 'ContainersNotReady' },
  Succeeded: { reason: 'PodCompleted' },
  Failed: { reason: 'PodFailed' },
} as const

function conditionsOf(current: readonly PodCondition[], report: Report, now: string): readonly PodCondition[] {
  const ready = isReady(report) ? { status: 'True' } : { status: 'False', ...UNREADY[report.phase] }
  const initialized = { status: 'True', ...(report.phase === 'Succeeded' && UNREADY.Succeeded) }
  const wanted: readonly PodCondition[] = [
    { type: 'Initialized', ...initialized },
    { type: 'Ready', ...ready },
    { type: 'ContainersReady', ...ready },
    ...injectorCondition(report),
  ]
  const others = current.filter(({ type }) => type !== INJECTOR_CONDITION && wanted.every((one) => one.type !== type))
  return [
    ...others,
    ...wanted.map((one) => {
      const before = current.find(({ type }) => type === one.type)
      const isSame = before?.status === one.status && before.lastTransitionTime !== undefined
      return { ...one, lastTransitionTime: isSame ? before.lastTransitionTime : now }
    }),
  ]
}

function containerOf(report: Report, { image, containerID }: Place, timeOf: (ms: number) => string) {
  const common = { name: INJECTOR_CONTAINER, image, imageID: '', restartCount: 0, containerID }
  if (report.phase === 'Running') {
    const state = { running: { startedAt: timeOf(report.startedMs) } }
    return { ...common, ready: report.isReady, started: true, state }
  }
  const { startedMs, finishedMs, container } = report
  const times = { startedAt: timeOf(startedMs ?? finishedMs), finishedAt: timeOf(finishedMs) }
  return { ...common, ready: false, started: false, state: { terminated: { ...container, containerID, ...times } } }
}
