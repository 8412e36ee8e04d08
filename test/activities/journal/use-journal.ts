// A journal for one test file of the env project, empty for each of its tests, and what tests read of it.

import type { Kysely } from 'kysely'
import { afterAll, beforeAll, beforeEach } from 'vitest'
import type { Database } from '../../../activities/journal/database.ts'
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
  return {
    get db() {
      return test.db
    },
    get url() {
      return test.url
    },
    /** One line an event, in the order of the journal: how it came, its version, and what became of it. */
    outcomes: () => outcomesOf(test.db),
    /** The pending wakes, by uid. */
    wakes: () => test.db.selectFrom('wake').selectAll().orderBy('uid').execute(),
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
