// What a history says by itself, as JSON: its ends, and how much of it can be replayed. Pure.

/** As `historyJson` gives it. */
export type HistoryEvent = {
  readonly eventType?: string
} & Readonly<Record<string, unknown>>

const TASK = 'EVENT_TYPE_WORKFLOW_TASK_'

/** Without a last workflow task that has not ended: what the run does in it is not known yet. */
export function replayable(events: readonly HistoryEvent[]): readonly HistoryEvent[] {
  const done = events.findLastIndex(({ eventType }) => eventType === `${TASK}COMPLETED`)
  const open = events.findIndex(({ eventType }, index) => index > done && eventType === `${TASK}SCHEDULED`)
  return open < 0 ? events : events.slice(0, open)
}
