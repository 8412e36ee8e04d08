// Adds the index keys of a selector to subscriptions. A subscription with a label or field selector then matches only
// objects that have all of its index keys, instead of all objects of a namespace.
//
// Processes of the previous build continue to work: they write subscriptions without index keys, and treat
// subscriptions with index keys as if they had none.

import { type Kysely, sql } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db)
}

const STATEMENTS: readonly string[] = [
  // The default is constant, so PostgreSQL does not rewrite the table.
  `alter table subscription add column traits text[] not null default '{}'`,
  `alter table subscription drop constraint subscription_pkey,
     add primary key (controller, uid, job_id, api_group, kind, namespace, name, traits)`,
]
