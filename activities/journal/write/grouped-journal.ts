// The journal as activities use it on the hot path: what concurrent runs ask of it shares statements and transactions.

import type { Kysely } from 'kysely'
import type { By, GroupKind, Owner } from '../../../workflows/kit/index.ts'
import { beginActions, type NewAction } from './actions.ts'
import type { Database } from '../database.ts'
import { type AnsweredWrites, type JournalDeps, journalWrites, tellWrites, type ToldWrites } from './events.ts'
import { Families, type Looker } from './families.ts'
import { grouped } from './grouped.ts'
import { Holds } from './holds.ts'
import { type LookingRun, touchJobs } from './jobs.ts'
import { Ledgers } from './ledger.ts'
import { knownFamilies, type KnownFamily, withNewer } from '../read/known-objects.ts'

/** A pass that looks. */
export type Looking = Looker & Pick<By, 'serves'>

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
  family(owner: Owner, by?: Looker): Promise<KnownFamily>
  /** The newest version of a kind, in a namespace or anywhere, that this process has written and the journal may not know yet; 0 for none. */
  newestWritten(kind: GroupKind, namespace: string | undefined): number
  /** A pass of a run looks; it is counted. @throws when the journal cannot be written. */
  touch(by: Looking): Promise<void>
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

/** Statements that runs share when they need them at the same time. */
function statements({ db, lax }: JournalConnections, cluster: string, deps: JournalDeps) {
  return {
    write: grouped(MOST_BATCHES, async (ledgers: readonly (readonly ToldWrites[])[]) => {
      await journalWrites(db, cluster, ledgers.flat(), deps)
      return []
    }),
    begin: grouped(MOST_BATCHES, async (batches: readonly (readonly NewAction[])[]) => {
      const over = await beginActions(lax, batches.flat())
      return batches.map(([row]) => (row !== undefined && over.has(row.run_id) ? 'over' : 'begun'))
    }),
    families: grouped(MOST_LOOKUPS, async (owners: readonly Owner[]) => await knownFamilies(db, cluster, owners)),
    touch: grouped(MOST_LOOKUPS, async (runs: readonly LookingRun[]) => {
      await touchJobs(lax, runs, deps.now())
      return []
    }),
  }
}

export function createGroupedJournal(
  connections: JournalConnections,
  cluster: string,
  deps: JournalDeps,
): GroupedJournal {
  const shared = statements(connections, cluster, deps)
  const families = new Families(shared.families)
  const holds = new Holds()
  const ledgers = new Ledgers({
    write: async (told) => {
      const ended = told.flatMap(({ finished }) => finished)
      const begun = holds.take(ended)
      await shared.write([...told, { events: [], finished: [], begun }])
      holds.stored(begun)
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
        if (begun === 'begun') holds.stored(needed)
        else holds.dropped(rows)
        return begun
      } catch (error) {
        holds.dropped(rows)
        throw error
      }
    },
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
    family: async (owner, by) => {
      const told = ledgers.knows(owner)
      const isNew = () => by !== undefined && ledgers.hasMade(by.workflowID, owner.uid)
      return withNewer(await families.of(owner, by, isNew), owner, told)
    },
    newestWritten: (kind, namespace) => ledgers.newestOf(kind, namespace),
    touch: async (by) => {
      families.looks(by)
      const { workflowID, runID, serves } = by
      await shared.touch({ workflowID, runID, serves: serves ?? null })
    },
  }
}
