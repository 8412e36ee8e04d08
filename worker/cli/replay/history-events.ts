// What a history says by itself, as JSON: whose it is, how it ends, and how much of it can be replayed. Pure.

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
export function sealedBy(events: readonly HistoryEvent[]): readonly string[] {
  const names = [...JSON.stringify(events).matchAll(SEALED_BY)].map(([, name]) => name ?? '')
  return [...new Set(names)].map((name) => Buffer.from(name, 'base64').toString())
}

/** How many signals have come since the last workflow task. */
export function signalsAfter(events: readonly HistoryEvent[]): number {
  const done = events.findLastIndex(({ eventType }) => eventType === `${TASK}COMPLETED`)
  return events.slice(done + 1).filter(({ eventType }) => eventType === SIGNAL).length
}

/** `COMPLETED`, `FAILED`, `TERMINATED`, or what else the last event of a run is. */
export function lastEvent(events: readonly HistoryEvent[]): string {
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
