// A journal for one test file of the env project, empty for each of its tests, and what tests write to it and read of it.

import { type Kysely, type Selectable, sql } from 'kysely'
import { afterAll, beforeAll, beforeEach } from 'vitest'
import type { Database } from '../../../activities/journal/database.ts'
import { type EventBatch, journalEvents, type JournaledBatch } from '../../../activities/journal/write/events.ts'
import type { BatchEvent } from '../../../activities/journal/write/incoming-events.ts'
import { deps, unrouted } from './build-events.ts'
import { createTestDatabase, type TestDatabase } from './test-database.ts'

const TABLES = [
  ...(['watch_event', 'object', 'watch_checkpoint', 'wake', 'subscription'] as const),
  ...(['job', 'action', 'retry_turn', 'pass_turn'] as const),
]

/** Registers the hooks of the calling test file: one database for all its tests, without a row when one begins. */
export function useJournal(adminUrl: string) {
  let test: TestDatabase
  beforeAll(async () => {
    test = await createTestDatabase(adminUrl)
  })
  afterAll(async () => {
    await test.drop()
  })
  beforeEach(async () => {
    await emptyJournal(test.db)
  })
  const journal = async (batch: Partial<EventBatch>, routing = deps): Promise<JournaledBatch> =>
    await journalEvents(test.db, { cluster: 'c', source: 'watch', events: [], ...batch }, routing)
  return {
    get db() {
      return test.db
    },
    get url() {
      return test.url
    },
    /** Journals a batch, by default of the watch. */
    journal,
    watch: async (...events: BatchEvent[]) => await journal({ events }),
    relist: async (...events: BatchEvent[]) => await journal({ source: 'relist', events }),
    /** Journals the answers to writes of this run. */
    write: async (writer: string, ...events: BatchEvent[]) => await journal({ source: 'write', writer, events }),
    /** Journals events of the watch that wake no subject. */
    know: async (...events: BatchEvent[]) => await journal({ events }, unrouted),
    /** One line an event, in the order of the journal: how it came, its version, and what became of it. */
    outcomes: () => outcomesOf(test.db),
    /** The pending wakes, by uid. */
    wakes: () => test.db.selectFrom('wake').selectAll().orderBy('uid').execute(),
    /** These columns of all rows, sorted by the first column. */
    rows: <T extends keyof Database, C extends keyof Database[T] & string>(table: T, ...columns: C[]) =>
      readRows(test.db, table, columns),
  }
}

export async function emptyJournal(db: Kysely<Database>): Promise<void> {
  for (const table of TABLES) await db.deleteFrom(table).execute()
}

async function outcomesOf(db: Kysely<Database>): Promise<string[]> {
  const rows = await db.selectFrom('watch_event').selectAll().orderBy('seq').execute()
  return rows.map(
    ({ source, resource_version, outcome, reason }) => `${source} ${resource_version} ${outcome}: ${reason ?? ''}`,
  )
}

/** These columns of all rows, sorted by the first column. */
export async function readRows<T extends keyof Database, C extends keyof Database[T] & string>(
  db: Kysely<Database>,
  table: T,
  columns: readonly C[],
): Promise<Pick<Selectable<Database[T]>, C & keyof Selectable<Database[T]>>[]> {
  const names = sql.join(columns.map((column) => sql.ref(column)))
  const { rows } = await sql<Pick<Selectable<Database[T]>, C & keyof Selectable<Database[T]>>>`
    select ${names} from ${sql.table(table)} order by 1`.execute(db)
  return rows
}
