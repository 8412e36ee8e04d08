// Objects that hand something to others of their kind are found by what they give and take, not by reading all of a namespace.
//
// Without `fastupdate`: what is looked for is looked for at once, and a list of what is still to be indexed would be read by every look. Only objects
// that give or take anything are in the indexes, so that building them takes no time where there is none.

import { type Kysely, sql } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db)
}

const STATEMENTS: readonly string[] = [
  // The operators that the queries need, on arrays of texts: `?|`.
  `create index object_by_given on object using gin ((projection #> '{flow,gives}')) with (fastupdate = off) where projection ? 'flow'`,
  `create index object_by_taken on object using gin ((projection #> '{flow,takes}')) with (fastupdate = off) where projection ? 'flow'`,
]
