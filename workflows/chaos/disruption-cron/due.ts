// Whether it is time for a Disruption. Pure. Milliseconds since the epoch. Source: spec/chaos.md 2.12 "Flow".
//
//   D1. Of the times that were missed the last one alone counts.
//   D2. What the children say (`scheduled-at`) heals a status that was not written any more.
//   D3. A time at which there was a Disruption still, or no target, is passed over, and not made up for when that has changed: who deletes a Disruption has
//       peace until the next time.
//   D4. Times before the last edit of the schedule start nothing, and an interval is counted from the edit.

import type { Schedule } from '../schedule.ts'
import { type DisruptionCronStatus, MOST_HISTORY } from './kind.ts'

export interface CronState {
  readonly schedule: Schedule
  readonly createdMs: number
  /** When the schedule was edited last; undefined: never (D4). */
  readonly editedMs: number | undefined
  /** `status.lastScheduleTime` */
  readonly lastMs: number | undefined
  /** `status.lastSkippedTime` (D3) */
  readonly skippedMs: number | undefined
  /** For which times the children that are there were made. */
  readonly children: readonly (number | undefined)[]
  readonly nowMs: number
  readonly toleranceMs: number
  readonly isPaused: boolean
  readonly isTargetThere: boolean
}

export type CronDecision = {
  /** For the status, where it is known. */
  readonly lastMs: number | undefined
  /** When to look again; undefined for never. */
  readonly nextMs: number | undefined
} & (
  | { readonly run: 'now' | 'target missing' | 'still there' | 'too late'; readonly forMs: number }
  | { readonly run: 'paused' | 'not due' }
)

export function cronDecision(state: CronState): CronDecision {
  const { schedule, createdMs, editedMs, skippedMs, children, nowMs, toleranceMs } = state
  const lastMs = latest([state.lastMs, ...children])
  if (state.isPaused) return { run: 'paused', lastMs, nextMs: undefined }
  const sinceMs = Math.max(lastMs ?? createdMs, skippedMs ?? 0, editedMs ?? 0)
  const forMs = schedule.lastIn(sinceMs, nowMs)
  const rest = { lastMs, nextMs: schedule.after(nowMs, Math.min(sinceMs, nowMs)) }
  if (forMs === undefined) return { run: 'not due', ...rest }
  if (!state.isTargetThere) return { run: 'target missing', forMs, ...rest }
  if (children.length > 0) return { run: 'still there', forMs, ...rest }
  if (forMs + toleranceMs < nowMs) return { run: 'too late', forMs, ...rest }
  return { run: 'now', forMs, ...rest, lastMs: forMs }
}

/** The history with one more Disruption; the oldest go. */
export function withHistory(
  history: DisruptionCronStatus['history'] = [],
  name: string,
  createdAt: string,
): NonNullable<DisruptionCronStatus['history']> {
  return [...history, { name, kind: 'Disruption', createdAt }].slice(-MOST_HISTORY)
}

function latest(times: readonly (number | undefined)[]): number | undefined {
  const known = times.filter((time) => time !== undefined)
  return known.length === 0 ? undefined : Math.max(...known)
}
