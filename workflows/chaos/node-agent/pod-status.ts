// Converts a report of the node agent to a Pod status, and compares it with the present status.

import { INJECTOR_CONDITION, INJECTOR_CONTAINER, SIMULATED_REASON } from '../contract.ts'
import type { Report } from './decide.ts'

/** The fields of the Pod status that an agent writes. */
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

/** Addresses and names that the agent reports. */
export interface Place {
  readonly hostIP: string
  readonly podIP: string
  readonly image: string
  /** Identifies the process, such as `pawl://UID`. */
  readonly containerID: string
}

export interface Clock {
  readonly nowMs: number
  /** A time in milliseconds since the epoch as a Kubernetes timestamp, in whole seconds of UTC. */
  readonly timeOf: (ms: number) => string
}

/** The merge patch of the status; undefined if the status is up to date. */
export function statusPatch(
  current: PodStatus,
  report: Report,
  place: Place,
  { nowMs, timeOf }: Clock,
): Readonly<Record<string, unknown>> | undefined {
  if (isReported(current, report)) return undefined
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

/** Compares the texts but not the timestamps, which keep their first values. */
function isReported(current: PodStatus, report: Report): boolean {
  const ready = current.conditions?.find(({ type }) => type === 'Ready')?.status
  const isSame = current.phase === report.phase && ready === (isReady(report) ? 'True' : 'False')
  return isSame && isMessageReported(current, report) && isEndReported(current, report)
}

function isMessageReported({ conditions = [] }: PodStatus, report: Report): boolean {
  const shown = conditions.find(({ type }) => type === INJECTOR_CONDITION)
  const [expected] = injectorCondition(report)
  return shown?.status === expected?.status && shown?.message === expected?.message
}

function isEndReported({ containerStatuses = [], reason }: PodStatus, report: Report): boolean {
  const state = containerStatuses.find(({ name }) => name === INJECTOR_CONTAINER)?.state
  if (report.phase === 'Running') return state?.running !== undefined
  return state?.terminated?.exitCode === report.container.exitCode && reason === report.reason
}

function isReady(report: Report): boolean {
  return report.phase === 'Running' && report.isReady
}

/** Empty if the injector has written no message. */
function injectorCondition(report: Report): readonly PodCondition[] {
  const { injectorMessage, phase } = report
  if (injectorMessage === undefined || injectorMessage.message === '') return []
  // Keeps the status small.
  const message = injectorMessage.message.slice(0, MAX_MESSAGE_LENGTH)
  // A failed simulation does not count as simulated.
  const state =
    injectorMessage.isSimulated && (isReady(report) || phase === 'Succeeded')
      ? { status: 'True', reason: SIMULATED_REASON }
      : { status: 'False', reason: 'NotInjected' }
  return [{ type: INJECTOR_CONDITION, ...state, message }]
}

const MAX_MESSAGE_LENGTH = 2000

/** Source: Kubernetes, the kubelet's reasons. */
const UNREADY_REASONS = {
  Running: { reason: 'ContainersNotReady' },
  Succeeded: { reason: 'PodCompleted' },
  Failed: { reason: 'PodFailed' },
} as const

function conditionsOf(current: readonly PodCondition[], report: Report, now: string): readonly PodCondition[] {
  const ready = isReady(report) ? { status: 'True' } : { status: 'False', ...UNREADY_REASONS[report.phase] }
  const initialized = { status: 'True', ...(report.phase === 'Succeeded' && UNREADY_REASONS.Succeeded) }
  const conditions: readonly PodCondition[] = [
    { type: 'Initialized', ...initialized },
    { type: 'Ready', ...ready },
    { type: 'ContainersReady', ...ready },
    ...injectorCondition(report),
  ]
  const others = current.filter(
    ({ type }) => type !== INJECTOR_CONDITION && conditions.every((one) => one.type !== type),
  )
  return [
    ...others,
    ...conditions.map((one) => {
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
