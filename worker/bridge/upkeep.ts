// Once an hour: partitions ahead, old events out. Every bridge does it; the statements exclude each other.

import type { Kysely } from 'kysely'
import type { Logger } from 'pino'
import type { Database } from '../../activities/journal/database.ts'
import { ensurePartitions } from '../../activities/journal/write/partitions.ts'
import { pruneJournal } from '../../activities/journal/write/retention.ts'
import { pause } from '../server/backoff.ts'

const HOUR_MS = 60 * 60 * 1000

export interface UpkeepDeps {
  readonly db: Kysely<Database>
  readonly log: Logger
  readonly retentionMs: number
  readonly now: () => Date
}

/** Runs until the signal; a failure is logged and tried again an hour later. */
export async function keepUp({ db, log, retentionMs, now }: UpkeepDeps, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    try {
      const made = await ensurePartitions(db, now())
      const pruned = await pruneJournal(db, retentionMs, now())
      log.debug({ made, pruned }, 'journal kept up')
    } catch (error) {
      log.warn({ error: String(error) }, 'journal could not be kept up')
    }
    await pause(HOUR_MS, signal)
  }
}
