// Computes the health of the engine from the heartbeats of all processes, and the report to write. Pure.
//
//   V1. Reports contain names and counts only: error texts may quote any data, and readers of the object need not be trusted with it.
//   V2. A silent process counts as a problem until another process of its role starts, or until it is forgotten. A process that stopped in good order
//       never counts.
//   V3. Required are the controllers for which bridges watch kinds, by the bridges' own heartbeats, so that processes with different flags agree.
//   V4. The state becomes Failed after two unhealthy checks in a row, so that a restart is not a failure.

import type { HeartbeatRecord } from '../../activities/journal/write/heartbeats.ts'
import { shortenList } from '../../workflows/kit/index.ts'

export type HealthState = 'Init' | 'Ok' | 'Failed'

export interface ReportedHealth {
  readonly state: HealthState
  readonly at: Date
}

/** The number of missing heartbeats after which a process counts as silent. */
const SILENT_BEATS = 3
const MAX_LISTED = 20

/** The problems as texts; empty if the engine is healthy. Deterministic for the same heartbeats. */
export function problemsIn(heartbeats: readonly HeartbeatRecord[]): readonly string[] {
  const living = heartbeats.filter((one) => !isSilent(one))
  const [bridges, workers] = [ofRole(living, 'bridge'), ofRole(living, 'worker')]
  const served = servedBy(workers)
  // V3
  const unserved = [...servedBy(bridges)].filter((controller) => !served.has(controller))
  return [
    ...(bridges.length > 0 ? [] : ['no bridge is running']),
    ...(workers.length > 0 ? [] : ['no worker is running']),
    ...(workers.length > 0 && unserved.length > 0 ? [`no worker runs ${unserved.join(', ')}`] : []),
    ...living.flatMap(({ role, place, wrong: failing }) =>
      failing.length === 0 ? [] : [`${role} ${place} is not ready: ${failing.join(', ')}`],
    ),
    ...heartbeats
      .filter((one) => isSilent(one) && !isReplaced(one, living))
      .map(({ role, place, at }) => `${role} ${place} is silent since ${at.toISOString()}`),
  ]
}

function ofRole(heartbeats: readonly HeartbeatRecord[], expected: HeartbeatRecord['role']): readonly HeartbeatRecord[] {
  return heartbeats.filter(({ role }) => role === expected)
}

function servedBy(heartbeats: readonly HeartbeatRecord[]): ReadonlySet<string> {
  return new Set(heartbeats.flatMap(({ serves }) => serves))
}

function isSilent({ silentMs, everyMs }: HeartbeatRecord): boolean {
  return silentMs > SILENT_BEATS * everyMs
}

/** V2 */
function isReplaced({ role, at }: HeartbeatRecord, living: readonly HeartbeatRecord[]): boolean {
  return living.some((one) => one.role === role && one.startedAt > at)
}

/** One bounded text. */
export function describeHealth(state: HealthState, problems: readonly string[]): string {
  if (state === 'Ok') return 'bridge, worker, journal and Temporal are healthy'
  return shortenList(problems, MAX_LISTED).join('; ')
}

export interface HealthCheck {
  readonly isHealthy: boolean
  /** Unhealthy checks in a row, including this one. */
  readonly failedChecks: number
  readonly now: Date
  readonly everyMs: number
}

/** The state to write; undefined: the existing report is still correct. */
export function stateToReport(
  { isHealthy, failedChecks, now, everyMs }: HealthCheck,
  reported: ReportedHealth | undefined,
): HealthState | undefined {
  const ageMs = reported === undefined ? Infinity : ageOf(reported.at, now, everyMs)
  const state = isHealthy ? 'Ok' : unhealthyState(failedChecks, ageMs > 2 * everyMs ? undefined : reported?.state)
  return state !== reported?.state || ageMs >= everyMs ? state : undefined
}

// A report from the future was written by hand, or by another clock.
function ageOf(at: Date, now: Date, everyMs: number): number {
  const ageMs = now.getTime() - at.getTime()
  return ageMs < -everyMs ? Infinity : ageMs
}

/** V4. Without a recent report, the engine is starting. */
function unhealthyState(failedChecks: number, reported: HealthState | undefined): HealthState {
  return failedChecks >= 2 ? 'Failed' : (reported ?? 'Init')
}
