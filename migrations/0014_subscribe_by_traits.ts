// Who selects objects by labels or fields subscribes to those that have what the selection demands, not to all of a namespace.
//
// Processes of the former version go on beside this: their rows demand nothing, and the rows of others they read as if these demanded nothing, too.

import { type Kysely, sql } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db)
}

const STATEMENTS: readonly string[] = [
  // A constant default is no rewrite of the table.
  `alter table subscription add column traits text[] not null default '{}'`,
  `alter table subscription drop constraint subscription_pkey,
     add primary key (controller, uid, job_id, api_group, kind, namespace, name, traits)`,
]
