// The journal as activities use it on the hot path: what concurrent runs ask of it shares statements and transactions.

import type { Kysely } from 'kysely'
import { beginActions, type NewAction } from './actions.ts'
import type { Database } from '../database.ts'
import { type AnsweredWrites, type JournalDeps, journalWrites, tellWrites, type ToldWrites } from './events.ts'
import { grouped } from './grouped.ts'
import { type RunID, touchJobs } from './jobs.ts'
import { Ledgers } from './ledger.ts'
import { knownFamilies, type KnownFamily, withNewer } from '../read/known-objects.ts'

export interface GroupedJournal {
  /**
   * Names the objects that are about to be written (actions.ts, A1); all rows are of one run.
   *
   * @returns 'over' when the run's job is (A3): nothing may be written. @throws when the journal cannot be written.
   */
  begin(rows: readonly NewAction[]): Promise<'begun' | 'over'>
  /** Takes the answers of one batch: they are journaled, and its actions ended, with the next flush of the run (ledger.ts). */
  finish(answers: AnsweredWrites): void
  /** Journals what the run has told so far. @throws when the journal cannot be written. */
  flush(workflowID: string): Promise<void>
  /** Before the process ends. */
  flushAll(): Promise<void>
  /** What is known of an object and its children, by the journal or by this process. @throws when the journal cannot be read. */
  family(uid: string): Promise<KnownFamily>
  /** Counts a pass of a run. @throws when the journal cannot be written. */
  touch(run: RunID): Promise<void>
}

// A group holds its objects' rows until it commits; 30 passes are some hundred rows and a few milliseconds.
const MOST_BATCHES = 30
const MOST_LOOKUPS = 100

export interface JournalConnections {
  readonly db: Kysely<Database>
  /** Commits do not wait for the disk; what is lost of it is made again, or was a hint. */
  readonly lax: Kysely<Database>
  /** What was written could not be journaled while nobody waited for it; it is tried again. */
  readonly report: (error: unknown) => void
}

export function createGroupedJournal(
  { db, lax, report }: JournalConnections,
  cluster: string,
  deps: JournalDeps,
): GroupedJournal {
  const write = grouped(MOST_BATCHES, async (ledgers: readonly (readonly ToldWrites[])[]) => {
    await journalWrites(db, cluster, ledgers.flat(), deps)
    return []
  })
  const ledgers = new Ledgers({ write, report })
  const known = grouped(MOST_LOOKUPS, async (uids: readonly string[]) => await knownFamilies(db, cluster, uids))
  return {
    begin: grouped(MOST_BATCHES, async (batches: readonly (readonly NewAction[])[]) => {
      const over = await beginActions(lax, batches.flat())
      return batches.map(([row]) => (row !== undefined && over.has(row.run_id) ? 'over' : 'begun'))
    }),
    finish: (answers) => {
      ledgers.tell(answers.writer, tellWrites(answers, deps))
    },
    flush: async (workflowID) => {
      await ledgers.flush(workflowID)
    },
    flushAll: async () => {
      await ledgers.flushAll()
    },
    // Asked for first: what is journaled meanwhile is in the answer.
    family: async (uid) => {
      const told = ledgers.knows(uid)
      return withNewer(await known(uid), uid, told)
    },
    touch: grouped(MOST_LOOKUPS, async (runs: readonly RunID[]) => {
      await touchJobs(lax, runs, deps.now())
      return []
    }),
  }
}
