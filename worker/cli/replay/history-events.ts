// Reads facts from a history in JSON: the run's IDs, its last event, its encryption keys, its replayable part, and why
// no part is replayable. Pure.

import { thrownAt } from '../../../activities/run/failure-reports.ts'
import type { ReplayEntry } from '../../../workflows/kit/index.ts'

/** An event as `historyJson` returns it. */
export type HistoryEvent = {
  readonly eventType?: string
} & Readonly<Record<string, unknown>>

const TASK = 'EVENT_TYPE_WORKFLOW_TASK_'
const SIGNAL = 'EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED'

/** The history without a last workflow task that has not completed, because its commands are not known yet. */
export function replayable(events: readonly HistoryEvent[]): readonly HistoryEvent[] {
  return events.slice(0, knownEnd(events))
}

function knownEnd(events: readonly HistoryEvent[]): number {
  const done = events.findLastIndex(({ eventType }) => eventType === `${TASK}COMPLETED`)
  const open = events.findIndex(({ eventType }, index) => index > done && eventType === `${TASK}SCHEDULED`)
  return open < 0 ? events.length : open
}

/** Why a run cannot be replayed, and the advice for the user. */
export interface ReplayObstacle {
  readonly error: string
  readonly advice: string
}

/** For a run without a completed workflow task, whose replay would never end; undefined for all other runs. */
export function replayObstacle(events: readonly HistoryEvent[]): ReplayObstacle | undefined {
  if (events.some(({ eventType }) => eventType === `${TASK}COMPLETED`)) return undefined
  const byHand = ENDED_BY_OPERATOR[lastEvent(events)]
  if (byHand !== undefined)
    return {
      error: `${byHand} before its first workflow task completed`,
      advice: 'nothing can be replayed; see pawl history of the object',
    }
  const failure = openTaskFailure(events)
  if (failure === undefined)
    return {
      error: 'its first workflow task has not completed',
      advice: 'start a worker with its controller if none runs; then repeat pawl replay',
    }
  return {
    error: `its first workflow task failed: ${failure}`,
    advice: 'fix the code and restart the worker, which retries the task; then repeat pawl replay',
  }
}

/** The error of the first failed workflow task since the last completed one; undefined without a failed task. */
export function openTaskFailure(events: readonly HistoryEvent[]): string | undefined {
  const done = events.findLastIndex(({ eventType }) => eventType === `${TASK}COMPLETED`)
  const failed = events.find(
    (event, index) =>
      index > done &&
      event.eventType === `${TASK}FAILED` &&
      attributesOf(event, 'workflowTaskFailedEventAttributes')['cause'] !== RESET,
  )
  return failed && taskFailure(failed)
}

/** The message of the error, and its place in the author's source. */
function taskFailure(event: HistoryEvent): string {
  const { failure, cause } = attributesOf(event, 'workflowTaskFailedEventAttributes')
  const { message, stackTrace } = (failure ?? {}) as { readonly message?: unknown; readonly stackTrace?: unknown }
  const text = typeof message === 'string' && message !== '' ? message : String(cause)
  const place = typeof stackTrace === 'string' ? thrownAt(stackTrace, process.cwd()) : undefined
  return place === undefined ? text : `${text} (${place})`
}

const SEALED_BY = /"encryption-key-id":"([\w+/=]*)"/g

/** The names of the keys that encrypt payloads; empty if no payload is encrypted. */
export function encryptionKeysIn(events: readonly HistoryEvent[]): readonly string[] {
  const names = [...JSON.stringify(events).matchAll(SEALED_BY)].map(([, name]) => name ?? '')
  return [...new Set(names)].map((name) => Buffer.from(name, 'base64').toString())
}

/** Number of signals since the last workflow task. */
export function signalsAfter(events: readonly HistoryEvent[]): number {
  const done = events.findLastIndex(({ eventType }) => eventType === `${TASK}COMPLETED`)
  return events.slice(done + 1).filter(({ eventType }) => eventType === SIGNAL).length
}

/** `COMPLETED`, `FAILED`, `TERMINATED`, or the type of the last event. */
function lastEvent(events: readonly HistoryEvent[]): string {
  return (events.at(-1)?.eventType ?? '').replace('EVENT_TYPE_WORKFLOW_EXECUTION_', '')
}

/** The run ID, which rows of the journal contain too; empty if the history does not contain it. */
export function runIDOf(events: readonly HistoryEvent[]): string {
  return runsIn(events).at(-1)?.runID ?? ''
}

/** A Temporal reset copies the beginning of a history to a new run. */
interface RunInHistory {
  readonly runID: string
  /** The time of the reset that created the run; 0 for the first run. */
  readonly fromMs: number
}

/** The run that wrote the first event, then the run of each reset. */
function runsIn(events: readonly HistoryEvent[]): readonly RunInHistory[] {
  const resets = events.flatMap((event) => {
    const { cause, newRunId } = attributesOf(event, 'workflowTaskFailedEventAttributes')
    return cause === RESET && typeof newRunId === 'string' ? [{ runID: newRunId, fromMs: timeOf(event) }] : []
  })
  return [{ runID: startedWith(events, 'originalExecutionRunId'), fromMs: 0 }, ...resets]
}

const RESET = 'WORKFLOW_TASK_FAILED_CAUSE_RESET_WORKFLOW'

/** The runs that executed the history's workflow tasks in this period: several if a reset lies in it. */
export function runIDsDuring(events: readonly HistoryEvent[], from: Date, until: Date): readonly string[] {
  const runs = runsIn(events)
  return runs
    .filter(({ fromMs }, index) => fromMs <= until.getTime() && (runs[index + 1]?.fromMs ?? Infinity) > from.getTime())
    .map(({ runID }) => runID)
}

/** The times of the resets, the earliest first. */
export function resetTimes(events: readonly HistoryEvent[]): readonly Date[] {
  return runsIn(events)
    .slice(1)
    .map(({ fromMs }) => new Date(fromMs))
}

/** Milliseconds since 1970. */
function timeOf(event: HistoryEvent): number {
  const { seconds, nanos } = (event['eventTime'] ?? {}) as { readonly seconds?: unknown; readonly nanos?: unknown }
  return Number(seconds ?? 0) * 1000 + Math.floor(Number(nanos ?? 0) / 1_000_000)
}

/** The run ID before continue-as-new; empty if this is the first run. */
export function runBefore(events: readonly HistoryEvent[]): string {
  return startedWith(events, 'continuedExecutionRunId')
}

function startedWith(events: readonly HistoryEvent[], attribute: string): string {
  const value = attributesOf(events[0] ?? {}, 'workflowExecutionStartedEventAttributes')[attribute]
  return typeof value === 'string' ? value : ''
}

function attributesOf(event: HistoryEvent, name: string): Readonly<Record<string, unknown>> {
  return (event[name] ?? {}) as Readonly<Record<string, unknown>>
}

// Results of runs that an operator ended.

const ENDED_BY_OPERATOR: Readonly<Record<string, string>> = {
  TERMINATED: 'the run was terminated',
  CANCELED: 'the run was canceled',
  TIMED_OUT: 'the run timed out',
}

/** The phase of the job, such as `Succeeded` or `Superseded`, `unfinished`, or how an operator ended the run. */
export function howEnded(entries: readonly ReplayEntry[], events: readonly HistoryEvent[]): string {
  const byHand = ENDED_BY_OPERATOR[lastEvent(events)]
  if (byHand !== undefined) return byHand
  const end = entries.findLast((entry) => entry.told === 'ended')
  if (end === undefined) return 'unfinished'
  if (end.isContinued === true) return 'continues as a new run'
  return end.failure === undefined ? String(end.result) : (lastResult(entries) ?? end.failure.type)
}

/** The last status phase or run outcome that the run wrote. */
function lastResult(entries: readonly ReplayEntry[]): string | undefined {
  const calls = entries.flatMap((entry) => (entry.told === 'call' ? [entry] : []))
  for (const { name, input } of calls.toReversed()) {
    const { outcome, change } = (input ?? {}) as {
      readonly outcome?: unknown
      readonly change?: { readonly phase?: unknown }
    }
    const isEnd = name === 'endRun' || name === 'endLevel'
    const phase = name === 'settle' ? change?.phase : undefined
    const result = isEnd ? outcome : phase
    if (typeof result === 'string') return result
  }
  return undefined
}
