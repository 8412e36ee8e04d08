// Indexes producers and consumers of named values among the objects of one kind (activities/journal/flow.ts), so that a
// query need not read all objects of a namespace.
//
// Without `fastupdate`, because runs query rows soon after they are written, and each query would scan the pending
// list. The indexes contain only objects that produce or consume values, so without such objects building them takes no
// time.

import { type Kysely, sql } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db)
}

const STATEMENTS: readonly string[] = [
  // The queries use the operator `?|` on arrays of texts.
  `create index object_by_given on object using gin ((projection #> '{flow,gives}')) with (fastupdate = off) where projection ? 'flow'`,
  `create index object_by_taken on object using gin ((projection #> '{flow,takes}')) with (fastupdate = off) where projection ? 'flow'`,
]
