// Heartbeats of bridge and worker processes, from which the processes with a health check write the engine's health
// into an object. One row per start of such a process. The process updates its row periodically and deletes it when it
// shuts down.

import { type Kysely, sql } from 'kysely'

export async function up(db: Kysely<unknown>): Promise<void> {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db)
}

const STATEMENTS: readonly string[] = [
  // place: the machine or pod. serves: the controllers that a worker runs, or whose objects a bridge watches. wrong:
  // names of unhealthy parts, without error texts. at: the last heartbeat, by the database's clock. every_ms: the
  // interval.
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
