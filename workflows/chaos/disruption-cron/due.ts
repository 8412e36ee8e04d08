// Decides whether a Disruption is due. Pure. Milliseconds since the epoch. Source: spec/chaos.md 2.12 "Flow".
//
// D1. Of several missed times only the last one counts.
// D2. The annotations of children (`scheduled-at`) restore a status that was not written.
// D3. A time at which a child still existed or the target was missing is skipped and never made up for: after deleting
//   a Disruption, users have peace until the next time.
// D4. Times before the last edit of the schedule start nothing, and intervals are counted from the edit.

import type { Schedule } from '../schedule.ts'
import { type DisruptionCronStatus, MAX_HISTORY } from './kind.ts'
import { timestampMs, timestampText } from '../timestamp.ts'

export interface CronState {
  readonly schedule: Schedule
  readonly createdMs: number
  /** The time of the last edit of the schedule; undefined: never edited (D4). */
  readonly editedMs: number | undefined
  /** `status.lastScheduleTime` */
  readonly lastMs: number | undefined
  /** `status.lastSkippedTime` (D3) */
  readonly skippedMs: number | undefined
  /** The scheduled times of the existing children. */
  readonly children: readonly (number | undefined)[]
  readonly nowMs: number
  readonly toleranceMs: number
  readonly isPaused: boolean
  readonly isTargetThere: boolean
}

/** The values of `status.lastSkippedReason`. */
export type SkipReason = 'TargetMissing' | 'StillThere' | 'TooLate'

export type CronDecision = {
  /** The value for the status, if known. */
  readonly lastMs: number | undefined
  /** The time of the next pass; undefined: never. */
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

/** Appends a Disruption to the history and drops the oldest entries. */
export function withHistory(
  history: DisruptionCronStatus['history'] = [],
  name: string,
  createdAt: string,
): NonNullable<DisruptionCronStatus['history']> {
  return [...history, { name, kind: 'Disruption', createdAt }].slice(-MAX_HISTORY)
}

function latest(times: readonly (number | undefined)[]): number | undefined {
  const known = times.filter((time) => time !== undefined)
  return known.length === 0 ? undefined : Math.max(...known)
}

export interface MissingTarget {
  /** For `status.targetResourcePreviouslyMissing`; undefined: the target exists. */
  readonly since: string | undefined
  /** The target has been missing for longer than the threshold. */
  readonly isGivenUp: boolean
}

export function missingTarget(
  isThere: boolean,
  known: string | undefined,
  { nowMs, thresholdMs }: { readonly nowMs: number; readonly thresholdMs: number },
): MissingTarget {
  if (isThere) return { since: undefined, isGivenUp: false }
  const sinceMs = timestampMs(known)
  if (known === undefined || sinceMs === undefined) return { since: timestampText(nowMs), isGivenUp: false }
  return { since: known, isGivenUp: nowMs - sinceMs > thresholdMs }
}
