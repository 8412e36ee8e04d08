// Fairness between namespaces: dispatchers claim wakes by namespace, first the wakes that cannot start a run, and each
// controller has a token bucket of retries per namespace. `retry_bucket` stays for workers of the previous build.

import { type Kysely, sql } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db)
}

const STATEMENTS: readonly string[] = [
  `create index wake_by_turn on wake (cluster, namespace, may_start, due)`,
  `drop index wake_by_due`,
  // tokens is negative while retries wait for their tokens.
  `create table retry_turn (
    cluster text not null,
    controller text not null,
    namespace text not null,
    tokens double precision not null,
    updated_at timestamptz not null,
    primary key (cluster, controller, namespace)
  )`,
]
