// Controllers that bound how many of their passes are under way at once: each such pass has a row here, from its turn to its settle, in whichever
// worker it is.

import { type Kysely, sql } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db)
}

const STATEMENTS: readonly string[] = [
  // since: when the pass got its turn.
  `create table pass_turn (
    cluster text not null,
    controller text not null,
    uid text not null,
    workflow_id text not null,
    since timestamptz not null,
    primary key (cluster, controller, uid)
  )`,
]
