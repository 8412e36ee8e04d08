// Stores which builds may use this journal: builds that know the migration named here, even if they do not know newer
// migrations. So a release and the previous release can run at the same time during a roll-out. Older builds stop at
// start.

import { type Kysely, sql } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db)
}

const STATEMENTS: readonly string[] = [
  // One row. needs: name of the newest migration that a process must know. A migration that is incompatible with
  // processes of the previous build sets it to its own name.
  `create table journal_schema (
    id integer primary key check (id = 1),
    needs text not null
  )`,
  `insert into journal_schema values (1, '0007_note_stuck_runs')`,
]
