// How a job ended, in the word of its status: what its last pass wrote, or what the run's row in the journal was closed with. Pure.

import type { ReplayEntry } from '../../../workflows/kit/index.ts'
import { type HistoryEvent, lastEvent } from './history-events.ts'

const BY_HAND: Readonly<Record<string, string>> = {
  TERMINATED: 'the run was terminated',
  CANCELED: 'the run was canceled',
  TIMED_OUT: 'the run timed out',
}

/** `Succeeded`, `Superseded`, `goes on`, or that the run was ended by others. */
export function howEnded(entries: readonly ReplayEntry[], events: readonly HistoryEvent[]): string {
  const byHand = BY_HAND[lastEvent(events)]
  if (byHand !== undefined) return byHand
  const end = entries.findLast((entry) => entry.told === 'ended')
  if (end === undefined) return 'goes on'
  if (end.isContinued === true) return 'goes on as a new run'
  return end.failure === undefined ? String(end.result) : (lastResult(entries) ?? end.failure.type)
}

/** What a run that failed was closed with. */
function lastResult(entries: readonly ReplayEntry[]): string | undefined {
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
