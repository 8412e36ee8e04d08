// The journal where there is none, for rehearsals: it takes everything and knows nothing.

import { DummyDriver, Kysely, PostgresAdapter, PostgresIntrospector, PostgresQueryCompiler } from 'kysely'

import type { Database } from './database.ts'
import type { GroupedJournal } from './write/grouped-journal.ts'

export function createEmptyJournal(): { readonly db: Kysely<Database>; readonly journal: GroupedJournal } {
  const nothing = () => Promise.resolve()
  return {
    // No statement finds a row.
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
