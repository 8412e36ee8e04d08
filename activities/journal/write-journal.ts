// The journal's side of every write: named before it is sent, journaled with its answer. Writes of concurrent runs share transactions.

import type { Kysely } from 'kysely'
import { beginActions, type NewAction } from './actions.ts'
import type { Database } from './database.ts'
import { type AnsweredWrites, type JournalDeps, journalWrites } from './events.ts'
import { grouped } from './grouped.ts'

export interface WriteJournal {
  /** Names the objects that are about to be written (actions.ts, A1). @throws when the journal cannot be written. */
  begin(rows: readonly NewAction[]): Promise<void>
  /** Journals the answers of one batch, and ends its actions. @throws when the journal cannot be written. */
  finish(answers: AnsweredWrites): Promise<void>
}

// A group holds its objects' rows until it commits; 30 batches are some hundred rows and a few milliseconds.
const MOST_BATCHES = 30

export function createWriteJournal(db: Kysely<Database>, cluster: string, deps: JournalDeps): WriteJournal {
  return {
    begin: grouped(MOST_BATCHES, async (batches: readonly (readonly NewAction[])[]) => {
      await beginActions(db, batches.flat())
    }),
    finish: grouped(MOST_BATCHES, async (batches: readonly AnsweredWrites[]) => {
      await journalWrites(db, cluster, batches, deps)
    }),
  }
}
