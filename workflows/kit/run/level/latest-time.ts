// The latest known time, for limits that must hold although machine clocks may be wrong or set. Pure.
//
//   L1. A limit has passed when one clock says so: the run's (Temporal), the journal's (database) or the worker machine's. A fast clock ends things
//       early;
// a slow clock never prolongs them.
//   L2. Within a run the time never decreases. On one machine it increases at least like the machine's monotonic clock, so that setting back all
//       clocks
// does not prolong a limit.

/** Clocks of a process at an observation, in milliseconds; since 1970 except for the monotonic clock. Field names are part of recorded histories. */
export interface ClockReading {
  readonly machineMs: number
  readonly journalMs: number
  /** A monotonic clock. */
  readonly steadyMs: number
  /** Identifies the monotonic clock: values of another machine or another boot are not comparable. */
  readonly steadyOf: string
}

export interface LatestTime {
  /** Milliseconds since 1970. */
  readonly atMs: number
  /** The monotonic clock at that time; absent if unknown. */
  readonly steady?: Pick<ClockReading, 'steadyMs' | 'steadyOf'>
}

/**
 * @param reading absent in results of workers of earlier releases.
 * @param before of the previous pass, of this run or of the run that it continues.
 */
export function latestTime(
  runMs: number,
  reading: ClockReading | undefined,
  before: LatestTime | undefined,
): LatestTime {
  const atMs = Math.max(runMs, reading?.machineMs ?? 0, reading?.journalMs ?? 0, heldMs(reading, before))
  if (reading === undefined) return { atMs }
  const { steadyMs, steadyOf } = reading
  return { atMs: Math.round(atMs), steady: { steadyMs, steadyOf } }
}

/** L2 */
function heldMs(reading: ClockReading | undefined, before: LatestTime | undefined): number {
  if (before === undefined) return 0
  const { atMs, steady } = before
  const isSame = reading !== undefined && steady !== undefined && steady.steadyOf === reading.steadyOf
  return isSame ? atMs + Math.max(0, reading.steadyMs - steady.steadyMs) : atMs
}
