// The clocks of a process. The journal clock is the database's time, for leases and due times that several machines compare. It is read every 30 s; between
// two readings it advances with the machine's monotonic clock.
//
//   J1. Between two readings, steps of the machine's wall clock have no effect.
//   J2. A reading that takes longer than 1 s is not exact enough and is not used, unless it is the first one.

import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { type Kysely, sql } from 'kysely'

import type { Database } from '../../activities/journal/database.ts'
import { pause } from './backoff.ts'
import type { Logger } from './log.ts'
import type { ClockReading } from '../../workflows/kit/index.ts'

const READ_EVERY_MS = 30_000
const READINGS = 3
/** Slower readings are not used (J2): the error of a reading is up to half of its response time. */
const MAX_RESPONSE_MS = 1000
/** A larger difference between the machine's clock and the database's clock is logged. */
const LOGGED_DIFFERENCE_MS = 5000

export interface JournalClock {
  /** The database's time; before the first reading the machine's time. */
  now(): Date
  /** Reads the database's clock. @throws failures of the database. */
  read(db: Kysely<Database>): Promise<void>
  /** Reads the clock periodically, until the signal is aborted. Failures are not reported: other parts use the database all the time and report it. */
  follow(db: Kysely<Database>, log: Logger, signal: AbortSignal): Promise<void>
}

/**
 * @param steady milliseconds of a monotonic clock.
 * @param machine milliseconds of the machine's wall clock, since 1970.
 */
export function createJournalClock(
  steady: () => number = () => performance.now(),
  machine: () => number = () => Date.now(),
): JournalClock {
  /** The database's time at the zero of the monotonic clock; undefined before the first reading. */
  let origin: number | undefined
  let isLogged = false

  /** Uses the fastest of several answers, because it is the most exact one. */
  async function read(db: Kysely<Database>): Promise<void> {
    let best: { readonly tookMs: number; readonly origin: number } | undefined
    for (let left = READINGS; left > 0; left--) {
      const before = steady()
      const { rows } = await sql<{ ms: number }>`
        select (extract(epoch from clock_timestamp()) * 1000)::float8 as ms`.execute(db)
      const after = steady()
      const tookMs = after - before
      if (rows[0] !== undefined && (best === undefined || tookMs < best.tookMs))
        best = { tookMs, origin: rows[0].ms - (before + after) / 2 }
    }
    if (best !== undefined && (best.tookMs <= MAX_RESPONSE_MS || origin === undefined)) origin = best.origin
  }

  const now = () => (origin === undefined ? machine() : origin + steady())

  return {
    now: () => new Date(now()),
    read,
    async follow(db, log, signal) {
      while (!signal.aborted) {
        const offMs = Math.round(machine() - now())
        if (Math.abs(offMs) > LOGGED_DIFFERENCE_MS && !isLogged)
          log.warn({ offMs }, "this machine's clock differs from the database's clock; Pawl uses the database's clock")
        isLogged = Math.abs(offMs) > LOGGED_DIFFERENCE_MS
        await pause(READ_EVERY_MS, signal)
        await read(db).catch((error: unknown) => log.debug({ err: error }, "the database's clock could not be read"))
      }
    },
  }
}

// Detects steps of clocks: an administrator or a time service sets a clock. After a step, a due time may already have passed, or may be much further away.
//
//   S1. Only steps are detected, not drift: a clock that is adjusted slowly, or that is constantly wrong, is not reported.

/** A step of the machine's clock is detected after at most this time; a step of the database's clock only after the clock's next reading (30 s). */
const POLL_MS = 1000
/** A larger change is a step. The value exceeds the error of a reading of the database's clock (J2): on a busy machine the first reading may take seconds. */
const STEP_MS = 5000

export interface ClockStep {
  readonly clock: 'machine' | 'database'
  /** In milliseconds; negative for a step back. */
  readonly byMs: number
}

export interface ClockStepWatcher {
  /** Registers a callback for steps. */
  readonly onStep: (listener: () => void) => void
  /** Polls the clocks until the signal is aborted. */
  readonly follow: (log: Pick<Logger, 'warn'>, signal: AbortSignal) => Promise<void>
}

/**
 * @param clocks milliseconds since 1970.
 * @param steady milliseconds of a monotonic clock.
 */
export function createClockStepWatcher(
  clocks: Readonly<Record<ClockStep['clock'], () => number>>,
  steady: () => number = () => performance.now(),
): ClockStepWatcher {
  const listeners = new Set<() => void>()
  const detectSteps = createStepDetector(clocks, steady)
  return {
    onStep: (listener) => void listeners.add(listener),
    async follow(log, signal) {
      while (!signal.aborted) {
        const steps = detectSteps()
        for (const step of steps) log.warn(step, 'a clock was changed; due times are computed again')
        if (steps.length > 0) for (const listener of listeners) listener()
        await pause(POLL_MS, signal)
      }
    },
  }
}

/** @returns a function that returns the steps since its last call. */
export function createStepDetector(
  clocks: Readonly<Record<ClockStep['clock'], () => number>>,
  steady: () => number,
): () => readonly ClockStep[] {
  const offsets = new Map<ClockStep['clock'], number>()
  return () =>
    (['machine', 'database'] as const).flatMap((clock) => {
      const offset = clocks[clock]() - steady()
      const byMs = Math.round(offset - (offsets.get(clock) ?? offset))
      offsets.set(clock, offset)
      return Math.abs(byMs) > STEP_MS ? [{ clock, byMs }] : []
    })
}

/** @returns a function that reads all clocks for a pass. */
export function clockReader({ now }: Pick<JournalClock, 'now'>): () => ClockReading {
  const steadyOf = readBootID()
  return () => ({
    machineMs: Date.now(),
    journalMs: now().getTime(),
    steadyMs: Number(process.hrtime.bigint() / 1_000_000n),
    steadyOf,
  })
}

/** The ID of the machine's boot: all processes of one boot share a monotonic clock. */
function readBootID(): string {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
  } catch {
    // Not Linux: the process counts as a separate machine.
    return randomUUID()
  }
}
