// What a history says by itself, as JSON: whose it is, how it ends, and how much of it can be replayed. Pure.

import type { Recorded } from '../../../workflows/kit/index.ts'

/** As `historyJson` gives it. */
export type HistoryEvent = {
  readonly eventType?: string
} & Readonly<Record<string, unknown>>

const TASK = 'EVENT_TYPE_WORKFLOW_TASK_'
const SIGNAL = 'EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED'

/** Without a last workflow task that has not ended: what the run does in it is not known yet. */
export function replayable(events: readonly HistoryEvent[]): readonly HistoryEvent[] {
  return events.slice(0, knownEnd(events))
}

function knownEnd(events: readonly HistoryEvent[]): number {
  const done = events.findLastIndex(({ eventType }) => eventType === `${TASK}COMPLETED`)
  const open = events.findIndex(({ eventType }, index) => index > done && eventType === `${TASK}SCHEDULED`)
  return open < 0 ? events.length : open
}

const SEALED_BY = /"encryption-key-id":"([\w+/=]*)"/g

/** The names of the keys by which its payloads are sealed; none: anybody can read them. */
export function encryptionKeysIn(events: readonly HistoryEvent[]): readonly string[] {
  const names = [...JSON.stringify(events).matchAll(SEALED_BY)].map(([, name]) => name ?? '')
  return [...new Set(names)].map((name) => Buffer.from(name, 'base64').toString())
}

/** How many signals have come since the last workflow task. */
export function signalsAfter(events: readonly HistoryEvent[]): number {
  const done = events.findLastIndex(({ eventType }) => eventType === `${TASK}COMPLETED`)
  return events.slice(done + 1).filter(({ eventType }) => eventType === SIGNAL).length
}

/** `COMPLETED`, `FAILED`, `TERMINATED`, or what else the last event of a run is. */
function lastEvent(events: readonly HistoryEvent[]): string {
  return (events.at(-1)?.eventType ?? '').replace('EVENT_TYPE_WORKFLOW_EXECUTION_', '')
}

/** Of the run, which its rows in the journal have, too; empty when the history does not say it. */
export function runIDOf(events: readonly HistoryEvent[]): string {
  return startedWith(events, 'originalExecutionRunId')
}

/** Of the run that went on as this one; empty: none did. */
export function runBefore(events: readonly HistoryEvent[]): string {
  return startedWith(events, 'continuedExecutionRunId')
}

function startedWith(events: readonly HistoryEvent[], attribute: string): string {
  const attributes = events[0]?.['workflowExecutionStartedEventAttributes'] as
    Readonly<Record<string, unknown>> | undefined
  const value = attributes?.[attribute]
  return typeof value === 'string' ? value : ''
}

// How a job ended, in the word of its status: what its last pass wrote, or what the run's row in the journal was closed with. Pure.

const ENDED_BY_OPERATOR: Readonly<Record<string, string>> = {
  TERMINATED: 'the run was terminated',
  CANCELED: 'the run was canceled',
  TIMED_OUT: 'the run timed out',
}

/** `Succeeded`, `Superseded`, `goes on`, or that the run was ended by others. */
export function howEnded(entries: readonly Recorded[], events: readonly HistoryEvent[]): string {
  const byHand = ENDED_BY_OPERATOR[lastEvent(events)]
  if (byHand !== undefined) return byHand
  const end = entries.findLast((entry) => entry.told === 'ended')
  if (end === undefined) return 'goes on'
  if (end.isContinued === true) return 'goes on as a new run'
  return end.failure === undefined ? String(end.result) : (lastResult(entries) ?? end.failure.type)
}

/** What a run that failed was closed with. */
function lastResult(entries: readonly Recorded[]): string | undefined {
  const calls = entries.flatMap((entry) => (entry.told === 'call' ? [entry] : []))
  for (const { name, input } of calls.toReversed()) {
    const { outcome, change } = (input ?? {}) as {
      readonly outcome?: unknown
      readonly change?: { readonly phase?: unknown }
    }
    const said = name === 'endRun' || name === 'endLevel' ? outcome : name === 'settle' ? change?.phase : undefined
    if (typeof said === 'string') return said
  }
  return undefined
}
