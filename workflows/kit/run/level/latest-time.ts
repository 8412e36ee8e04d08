// What time it is at the latest, for what must not last longer than it may: clocks of machines are set, forward and back, and nobody tells which of them is
// right. Pure.
//
//   L1. A time is over when one clock says so: that of the run (Temporal's), the journal's (the database's), or that of the worker's machine. A clock that is
//       ahead ends things early; none that is behind makes them last.
//   L2. In a run it never goes back. While passes are made on one machine it goes on at least as its steady clock does, which nobody sets: what began before
//       all clocks were set back ends after as long as it was to last.

/** What a process knows of the time when a pass looks; milliseconds, since 1970 but for the steady clock. */
export interface ClockReading {
  readonly machineMs: number
  readonly journalMs: number
  /** Of a clock that nobody sets. */
  readonly steadyMs: number
  /** Which steady clock it is: that of another machine, or of another start of it, cannot be compared. */
  readonly steadyOf: string
}

export interface LatestTime {
  /** Milliseconds since 1970. */
  readonly atMs: number
  /** When that was known; absent: nobody has read it. */
  readonly steady?: Pick<ClockReading, 'steadyMs' | 'steadyOf'>
}

/**
 * @param reading absent in passes of former workers.
 * @param before of the pass before, of this run or of the one that goes on in it.
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
