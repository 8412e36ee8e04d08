// The time of the database, for leases, due times and whatever else processes on several machines compare: of each machine's own clock nothing is
// known. Asked for rarely; in between the machine's steady clock counts, which nobody sets.
//
//   J1. Between two readings of the database the steps of the machine's clock do nothing.
//   J2. A reading whose answer took long tells too little and is not used, unless there is none yet.

import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { type Kysely, sql } from 'kysely'

import type { Database } from '../../activities/journal/database.ts'
import { pause } from './backoff.ts'
import type { Logger } from './log.ts'
import type { ClockReading } from '../../workflows/kit/index.ts'

const READ_EVERY_MS = 30_000
const ASKED = 3
/** The time of an answer that took this long is known to half of it. */
const SLOW_MS = 1000
/** A machine's clock that is off by more is worth a line in the log. */
const OFF_MS = 5000

export interface JournalClock {
  /** The database's time; before the first reading that of the machine. */
  now(): Date
  /** Reads the database's clock. @throws failures of the database. */
  read(db: Kysely<Database>): Promise<void>
  /** Reads it from time to time, until the signal; a failure is for others to tell, who use the database all the time. */
  follow(db: Kysely<Database>, log: Logger, signal: AbortSignal): Promise<void>
}

/**
 * @param steady milliseconds of a clock that nobody sets.
 * @param machine those of the machine's clock, since 1970.
 */
export function createJournalClock(
  steady: () => number = () => performance.now(),
  machine: () => number = () => Date.now(),
): JournalClock {
  /** The database's time when the steady clock was 0; undefined: not known yet. */
  let origin: number | undefined
  let told = false

  /** The quickest of some answers tells the time best. */
  async function read(db: Kysely<Database>): Promise<void> {
    let best: { readonly tookMs: number; readonly origin: number } | undefined
    for (let left = ASKED; left > 0; left--) {
      const before = steady()
      const { rows } = await sql<{ ms: number }>`
        select (extract(epoch from clock_timestamp()) * 1000)::float8 as ms`.execute(db)
      const after = steady()
      const tookMs = after - before
      if (rows[0] !== undefined && (best === undefined || tookMs < best.tookMs))
        best = { tookMs, origin: rows[0].ms - (before + after) / 2 }
    }
    if (best !== undefined && (best.tookMs <= SLOW_MS || origin === undefined)) origin = best.origin
  }

  const now = () => (origin === undefined ? machine() : origin + steady())

  return {
    now: () => new Date(now()),
    read,
    async follow(db, log, signal) {
      while (!signal.aborted) {
        const offMs = Math.round(machine() - now())
        if (Math.abs(offMs) > OFF_MS && !told)
          log.warn({ offMs }, "this machine's clock differs from the database's; the database's counts")
        told = Math.abs(offMs) > OFF_MS
        await pause(READ_EVERY_MS, signal)
        await read(db).catch((error: unknown) => log.debug({ err: error }, "the database's clock could not be read"))
      }
    },
  }
}

// Clocks that are set while the process runs, by a person or by a time service: what is due by them may be due at once, or has become due much later.
//
//   S1. What is told is a step, not a drift: clocks that are brought right slowly, or are only wrong, are told of by nobody here.

/** How late a step is noticed, of the machine's clock. That of the database is read more rarely. */
const LOOK_MS = 1000
/** The database's clock is known to half of how long its answer took (journal-clock.ts, J2); on a busy machine the first one may have taken seconds. */
const STEP_MS = 5000

export interface ClockStep {
  readonly clock: 'machine' | 'database'
  /** Milliseconds, negative when it was set back. */
  readonly byMs: number
}

export interface ClockSteps {
  /** Calls after each step. */
  readonly onSet: (listener: () => void) => void
  /** Looks at the clocks, until the signal. */
  readonly follow: (log: Pick<Logger, 'warn'>, signal: AbortSignal) => Promise<void>
}

/**
 * @param clocks milliseconds since 1970.
 * @param steady milliseconds of a clock that nobody sets.
 */
export function createClockSteps(
  clocks: Readonly<Record<ClockStep['clock'], () => number>>,
  steady: () => number = () => performance.now(),
): ClockSteps {
  const listeners = new Set<() => void>()
  const find = stepFinder(clocks, steady)
  return {
    onSet: (listener) => void listeners.add(listener),
    async follow(log, signal) {
      while (!signal.aborted) {
        const steps = find()
        for (const step of steps) log.warn(step, 'a clock was set: what waits for a time is looked at again')
        if (steps.length > 0) for (const listener of listeners) listener()
        await pause(LOOK_MS, signal)
      }
    },
  }
}

/** @returns what finds the steps since it was called last. */
export function stepFinder(
  clocks: Readonly<Record<ClockStep['clock'], () => number>>,
  steady: () => number,
): () => readonly ClockStep[] {
  const looked = new Map<ClockStep['clock'], number>()
  return () =>
    (['machine', 'database'] as const).flatMap((clock) => {
      const off = clocks[clock]() - steady()
      const byMs = Math.round(off - (looked.get(clock) ?? off))
      looked.set(clock, off)
      return Math.abs(byMs) > STEP_MS ? [{ clock, byMs }] : []
    })
}

/** What passes are told of the time (`ClockReading`). */
export function clockReader({ now }: Pick<JournalClock, 'now'>): () => ClockReading {
  const steadyOf = startOfMachine()
  return () => ({
    machineMs: Date.now(),
    journalMs: now().getTime(),
    steadyMs: Number(process.hrtime.bigint() / 1_000_000n),
    steadyOf,
  })
}

/** All processes of a machine have one steady clock from its start on, where the machine says which start that is. */
function startOfMachine(): string {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
  } catch {
    // No Linux: then this process has a clock of its own.
    return randomUUID()
  }
}
