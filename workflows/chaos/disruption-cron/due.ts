// Whether it is time for a Disruption. Pure. Milliseconds since the epoch. Source: spec/chaos.md 2.12 "Flow".
//
//   D1. Of the times that were missed the last one alone counts.
//   D2. What the children say (`scheduled-at`) heals a status that was not written any more.

import type { Schedule } from '../schedule.ts'
import { type DisruptionCronStatus, MOST_HISTORY } from './kind.ts'

export interface CronState {
  readonly schedule: Schedule
  readonly createdMs: number
  /** `status.lastScheduleTime` */
  readonly lastMs: number | undefined
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
  | { readonly run: 'now'; readonly forMs: number }
  | { readonly run: 'paused' | 'not due' | 'target missing' | 'still there' | 'too late' }
)

export function cronDecision(state: CronState): CronDecision {
  const { schedule, createdMs, children, nowMs, toleranceMs } = state
  const lastMs = latest([state.lastMs, ...children])
  if (state.isPaused) return { run: 'paused', lastMs, nextMs: undefined }
  const missedMs = schedule.lastIn(lastMs ?? createdMs, nowMs)
  const rest = { lastMs, nextMs: schedule.after(nowMs) }
  if (missedMs === undefined) return { run: 'not due', ...rest }
  if (!state.isTargetThere) return { run: 'target missing', ...rest }
  if (children.length > 0) return { run: 'still there', ...rest }
  if (missedMs + toleranceMs < nowMs) return { run: 'too late', ...rest }
  return { run: 'now', forMs: missedMs, ...rest, lastMs: missedMs }
}

/** The history with one more Disruption; the oldest go. */
export function withHistory(history: DisruptionCronStatus['history'] = [], name: string, createdAt: string) {
  return [...history, { name, kind: 'Disruption', createdAt }].slice(-MOST_HISTORY)
}

function latest(times: readonly (number | undefined)[]): number | undefined {
  const known = times.filter((time) => time !== undefined)
  return known.length === 0 ? undefined : Math.max(...known)
}
