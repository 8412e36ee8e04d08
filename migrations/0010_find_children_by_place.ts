// Pawl queries children by owner and namespace. Any user can write owner references, so with an index by owner alone a
// user who creates many objects with the same owner uid would slow down all queries of that owner's children.
//
// The dropped index is a prefix of the new one, so processes of the previous build continue to work. Building the new
// index blocks writes to `object` for some seconds per million rows.

import { type Kysely, sql } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db)
}

const STATEMENTS: readonly string[] = [
  `create index object_by_owner_and_place on object (owner_uid, namespace) where owner_uid is not null`,
  `drop index object_by_owner`,
]
