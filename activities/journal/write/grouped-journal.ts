// The journal as activities use it on the hot path: what concurrent runs ask of it shares statements and transactions.

import type { Kysely } from 'kysely'
import { beginActions, type NewAction } from './actions.ts'
import type { Database } from '../database.ts'
import { type AnsweredWrites, type JournalDeps, journalWrites } from './events.ts'
import { grouped } from './grouped.ts'
import { type RunID, touchJobs } from './jobs.ts'
import { knownFamilies, type KnownFamily } from '../read/known-objects.ts'

export interface GroupedJournal {
  /**
   * Names the objects that are about to be written (actions.ts, A1); all rows are of one run.
   *
   * @returns 'over' when the run's job is (A3): nothing may be written. @throws when the journal cannot be written.
   */
  begin(rows: readonly NewAction[]): Promise<'begun' | 'over'>
  /** Journals the answers of one batch, and ends its actions. @throws when the journal cannot be written. */
  finish(answers: AnsweredWrites): Promise<void>
  /** What is known of an object and its children. @throws when the journal cannot be read. */
  family(uid: string): Promise<KnownFamily>
  /** Counts a pass of a run. @throws when the journal cannot be written. */
  touch(run: RunID): Promise<void>
}

// A group holds its objects' rows until it commits; 30 batches are some hundred rows and a few milliseconds.
const MOST_BATCHES = 30
const MOST_LOOKUPS = 100

/** @param lax a connection whose commits do not wait for the disk; what is lost of it is made again, or was a hint. */
export function createGroupedJournal(
  { db, lax }: { readonly db: Kysely<Database>; readonly lax: Kysely<Database> },
  cluster: string,
  deps: JournalDeps,
): GroupedJournal {
  return {
    begin: grouped(MOST_BATCHES, async (batches: readonly (readonly NewAction[])[]) => {
      const over = await beginActions(lax, batches.flat())
      return batches.map(([row]) => (row !== undefined && over.has(row.run_id) ? 'over' : 'begun'))
    }),
    finish: grouped(MOST_BATCHES, async (batches: readonly AnsweredWrites[]) => {
      await journalWrites(db, cluster, batches, deps)
      return []
    }),
    family: grouped(MOST_LOOKUPS, async (uids: readonly string[]) => await knownFamilies(db, cluster, uids)),
    touch: grouped(MOST_LOOKUPS, async (runs: readonly RunID[]) => {
      await touchJobs(lax, runs, deps.now())
      return []
    }),
  }
}
