// The time of the database, for leases, due times and whatever else processes on several machines compare: of each machine's own clock nothing is
// known. Asked for rarely; in between the machine's steady clock counts, which nobody sets.
//
//   J1. Between two readings of the database the steps of the machine's clock do nothing.
//   J2. A reading whose answer took long tells too little and is not used, unless there is none yet.

import { type Kysely, sql } from 'kysely'

import type { Database } from '../../activities/journal/database.ts'
import { pause } from './backoff.ts'
import type { Logger } from './log.ts'

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
