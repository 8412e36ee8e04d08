// The journal as activities use it on the hot path: what concurrent runs ask of it shares statements and transactions.

import type { Kysely } from 'kysely'
import type { By, GroupKind, Owner } from '../../../workflows/kit/index.ts'
import { beginActions, type NewAction } from './actions.ts'
import type { Database } from '../database.ts'
import { type AnsweredWrites, type JournalDeps, journalWrites, reduceWrites, type WriteNews } from './events.ts'
import { FamilyCache, type PassRef } from './family-cache.ts'
import { createGroupCommit } from './group-commit.ts'
import { WriteIntents } from './write-intents.ts'
import { type RunPass, countPasses } from './jobs.ts'
import { WriteBuffers } from './write-buffer.ts'
import { knownFamilies, type KnownFamily, withNewerObjects } from '../read/known-objects.ts'

/** A pass that looks. */
export type ObservingPass = PassRef & Pick<By, 'serves'>

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
  /**
   * What is known of an object and its children, by the journal or by this process.
   *
   * @param by whose pass asks: what it was told since its look need not be asked again (families.ts).
   * @throws when the journal cannot be read.
   */
  family(owner: Owner, by?: PassRef): Promise<KnownFamily>
  /** The newest version of a kind, in a namespace or anywhere, that this process has written and the journal may not know yet; 0 for none. */
  newestWritten(kind: GroupKind, namespace: string | undefined): number
  /** A pass of a run looks; it is counted. @throws when the journal cannot be written. */
  countPass(by: ObservingPass): Promise<void>
}

// A group holds its objects' rows until it commits; 30 passes are some hundred rows and a few milliseconds.
const MOST_BATCHES = 30
const MOST_LOOKUPS = 100

export interface JournalConnections {
  readonly db: Kysely<Database>
  /** Commits do not wait for the disk; what is lost of it is made again, or was a hint. */
  readonly asyncCommitDb: Kysely<Database>
  /** What was written could not be journaled while nobody waited for it; it is tried again. */
  readonly report: (error: unknown) => void
}

/** Statements that runs share when they need them at the same time. */
function groupedStatements({ db, asyncCommitDb }: JournalConnections, cluster: string, deps: JournalDeps) {
  return {
    write: createGroupCommit(MOST_BATCHES, async (ledgers: readonly (readonly WriteNews[])[]) => {
      await journalWrites(db, cluster, ledgers.flat(), deps)
      return []
    }),
    begin: createGroupCommit(MOST_BATCHES, async (batches: readonly (readonly NewAction[])[]) => {
      const over = await beginActions(asyncCommitDb, batches.flat())
      return batches.map(([row]) => (row !== undefined && over.has(row.run_id) ? 'over' : 'begun'))
    }),
    families: createGroupCommit(
      MOST_LOOKUPS,
      async (owners: readonly Owner[]) => await knownFamilies(db, cluster, owners),
    ),
    touch: createGroupCommit(MOST_LOOKUPS, async (runs: readonly RunPass[]) => {
      await countPasses(asyncCommitDb, runs, deps.now())
      return []
    }),
  }
}

export function createGroupedJournal(
  connections: JournalConnections,
  cluster: string,
  deps: JournalDeps,
): GroupedJournal {
  const shared = groupedStatements(connections, cluster, deps)
  const families = new FamilyCache(shared.families)
  const holds = new WriteIntents()
  const ledgers = new WriteBuffers({
    write: async (told) => {
      const ended = told.flatMap(({ finished }) => finished)
      const begun = holds.takeUnstored(ended)
      await shared.write([...told, { events: [], finished: [], begun }])
      holds.markStored(begun)
      holds.ended(ended)
      for (const workflowID of new Set(ended.map(({ workflow_id }) => workflow_id))) families.forget(workflowID)
    },
    report: connections.report,
  })
  return {
    begin: async (rows) => {
      const needed = holds.begin(rows, deps.now())
      try {
        const begun = needed.length === 0 ? 'begun' : await shared.begin(needed)
        if (begun === 'begun') holds.markStored(needed)
        else holds.remove(rows)
        return begun
      } catch (error) {
        holds.remove(rows)
        throw error
      }
    },
    finish: (answers) => {
      ledgers.add(answers.writer, reduceWrites(answers, deps))
    },
    flush: async (workflowID) => {
      await ledgers.flush(workflowID)
    },
    flushAll: async () => {
      await ledgers.flushAll()
    },
    // Asked for first: what is journaled meanwhile is in the answer.
    family: async (owner, by) => {
      const told = ledgers.unflushedStates(owner)
      const isNew = () => by !== undefined && ledgers.hasCreated(by.workflowID, owner.uid)
      return withNewerObjects(await families.get(owner, by, isNew), owner, told)
    },
    newestWritten: (kind, namespace) => ledgers.newestVersion(kind, namespace),
    countPass: async (by) => {
      families.startPass(by)
      const { workflowID, runID, serves } = by
      await shared.touch({ workflowID, runID, serves: serves ?? null })
    },
  }
}
