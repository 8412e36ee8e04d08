// The journal for activities: concurrent runs share statements and transactions (group commit).

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

/** A pass that observes its objects. */
export type ObservingPass = PassRef & Pick<By, 'serves'>

export interface GroupedJournal {
  /**
   * Stores the intents of writes before they are sent (actions.ts, A1); all rows belong to one run.
   *
   * @returns 'over' when the run's job is over (A3): nothing may be written. @throws when the journal cannot be
   * written.
   */
  begin(rows: readonly NewAction[]): Promise<'begun' | 'over'>
  /**
   * Buffers the answers of one batch; the next flush of the run journals them and ends their actions (write-buffer.ts).
   */
  finish(answers: AnsweredWrites): void
  /**
   * Journals the run's buffered answers. @throws when the journal cannot be written.
   */
  flush(workflowID: string): Promise<void>
  /** Journals all buffered answers before the process ends. */
  flushAll(): Promise<void>
  /**
   * Returns the known versions of an object and its children, from the journal and this process.
   *
   * @param by the reading pass: versions that it read since its start are cached (family-cache.ts).
   * @throws when the journal cannot be read.
   */
  family(owner: Owner, by?: PassRef): Promise<KnownFamily>
  /**
   * The newest version of a kind, in a namespace or anywhere, that this process has written and that may not be
   * journaled yet; 0 for none.
   */
  newestWritten(kind: GroupKind, namespace: string | undefined): number
  /**
   * Counts the start of a pass. @throws when the journal cannot be written.
   */
  countPass(by: ObservingPass): Promise<void>
}

// A group holds row locks until it commits; 30 passes are some hundred rows and a few milliseconds.
const MOST_BATCHES = 30
const MOST_LOOKUPS = 100

export interface JournalConnections {
  readonly db: Kysely<Database>
  /** Commits do not wait for the disk; lost rows are recreated or were hints. */
  readonly asyncCommitDb: Kysely<Database>
  /** Reports a failed flush without a waiting caller; the flush is repeated. */
  readonly report: (error: unknown) => void
}

/** Statements that concurrent runs share. */
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
    write: async (news) => {
      const ended = news.flatMap(({ finished }) => finished)
      const newActions = holds.takeUnstored(ended)
      await shared.write([...news, { events: [], finished: [], newActions: newActions }])
      holds.markStored(newActions)
      holds.ended(ended)
      for (const workflowID of new Set(ended.map(({ workflow_id }) => workflow_id))) families.forget(workflowID)
    },
    report: connections.report,
  })
  return {
    begin: async (rows) => {
      const needed = holds.begin(rows, deps.now())
      try {
        const result = needed.length === 0 ? 'begun' : await shared.begin(needed)
        if (result === 'begun') holds.markStored(needed)
        else holds.remove(rows)
        return result
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
    // The buffer is read first, because a flush may move states to the journal before the answer.
    family: async (owner, by) => {
      const unflushed = ledgers.unflushedStates(owner)
      const isNew = () => by !== undefined && ledgers.hasCreated(by.workflowID, owner.uid)
      return withNewerObjects(await families.get(owner, by, isNew), owner, unflushed)
    },
    newestWritten: (kind, namespace) => ledgers.newestVersion(kind, namespace),
    countPass: async (by) => {
      families.startPass(by)
      const { workflowID, runID, serves } = by
      await shared.touch({ workflowID, runID, serves: serves ?? null })
    },
  }
}
