// Children are looked for by owner and namespace: an owner reference is anybody's to write, so the index by owner alone would let whoever makes many
// objects that name one uid slow every look of that owner down.
//
// The index that is dropped is the first column of the new one, so that processes of the former version go on beside this. Building it holds writes of
// `object` up, some seconds for a million rows.

import { type Kysely, sql } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db)
}

const STATEMENTS: readonly string[] = [
  `create index object_by_owner_and_place on object (owner_uid, namespace) where owner_uid is not null`,
  `drop index object_by_owner`,
]
