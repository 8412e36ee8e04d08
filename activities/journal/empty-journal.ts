// A journal without a database, for dry runs: it accepts all writes and returns no rows.

import { DummyDriver, Kysely, PostgresAdapter, PostgresIntrospector, PostgresQueryCompiler } from 'kysely'

import type { Database } from './database.ts'
import type { GroupedJournal } from './write/grouped-journal.ts'

export function createEmptyJournal(): { readonly db: Kysely<Database>; readonly journal: GroupedJournal } {
  const nothing = () => Promise.resolve()
  return {
    // Every statement returns no rows.
    db: new Kysely<Database>({
      dialect: {
        createAdapter: () => new PostgresAdapter(),
        createDriver: () => new DummyDriver(),
        createIntrospector: (db) => new PostgresIntrospector(db),
        createQueryCompiler: () => new PostgresQueryCompiler(),
      },
    }),
    journal: {
      begin: () => Promise.resolve('begun'),
      finish: () => undefined,
      newestWritten: () => 0,
      flush: nothing,
      flushAll: nothing,
      countPass: nothing,
      family: () => Promise.resolve({ self: undefined, children: [], listedKinds: new Set() }),
    },
  }
}
