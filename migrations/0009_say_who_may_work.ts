// Which builds may work on this journal. A build that does not know the newest migrations may, as long as it knows the one that is named here: so a
// release and the one before it work side by side while one takes the other's place, and an older one stops at its start.

import { type Kysely, sql } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db)
}

const STATEMENTS: readonly string[] = [
  // One row. needs: name of the newest migration that a process has to know. A migration that former processes could not work with sets it to itself.
  `create table journal_schema (
    id integer primary key check (id = 1),
    needs text not null
  )`,
  `insert into journal_schema values (1, '0007_note_stuck_runs')`,
]
