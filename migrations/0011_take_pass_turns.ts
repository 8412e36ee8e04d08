// Permits of passes, for controllers that limit their concurrent passes over all workers
// (activities/journal/write/pass-permits.ts). A row exists from the start of the pass until after its settle.

import { type Kysely, sql } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db)
}

const STATEMENTS: readonly string[] = [
  // since: when the run acquired the permit.
  `create table pass_turn (
    cluster text not null,
    controller text not null,
    uid text not null,
    workflow_id text not null,
    since timestamptz not null,
    primary key (cluster, controller, uid)
  )`,
]
