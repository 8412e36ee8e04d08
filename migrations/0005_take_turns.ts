// Namespaces take turns: wakes are claimed by namespace, those that begin nothing first, and retries are counted by controller and namespace.
// `retry_bucket` stays for workers of the build before, which count all retries together; nothing else reads it.

import { type Kysely, sql } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db)
}

const STATEMENTS: readonly string[] = [
  `create index wake_by_turn on wake (cluster, namespace, may_start, due)`,
  `drop index wake_by_due`,
  // tokens below 0 are owed: whoever took them waits.
  `create table retry_turn (
    cluster text not null,
    controller text not null,
    namespace text not null,
    tokens double precision not null,
    updated_at timestamptz not null,
    primary key (cluster, controller, namespace)
  )`,
]
