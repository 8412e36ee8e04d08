// Which processes of the engine are alive, and what each says is wrong with it: from this the object is written that tells the engine's health.
// One row for each start of a process that was given such an object; it says so again and again, and takes it away when it ends.

import { type Kysely, sql } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db)
}

const STATEMENTS: readonly string[] = [
  // place: the machine or pod. serves: the controllers that a worker runs. wrong: names of parts, no texts of errors.
  // at: when it last said so, every every_ms; by the database's clock.
  `create table heartbeat (
    cluster text not null,
    owner text not null,
    role text not null,
    place text not null,
    serves text[] not null,
    wrong text[] not null,
    every_ms integer not null,
    started_at timestamptz not null default clock_timestamp(),
    at timestamptz not null,
    primary key (cluster, owner)
  )`,
]
