// Heartbeats of bridge and worker processes. Times are the database's, so that clocks of machines are never compared.

import { type Kysely, sql } from 'kysely'
import type { Database } from '../database.ts'

/** The data that a process reports. */
export interface Heartbeat {
  readonly cluster: string
  /** ID of this start of the process. */
  readonly owner: string
  readonly role: 'bridge' | 'worker'
  /** The pod or machine, for users. */
  readonly place: string
  /**
   * Worker: the controllers that it runs. Bridge: the controllers whose objects it watches, and which some worker must
   * run.
   */
  readonly serves: readonly string[]
  /** Names of unhealthy parts. */
  readonly wrong: readonly string[]
  /** Interval between heartbeats. */
  readonly everyMs: number
}

/** A stored heartbeat. */
export interface HeartbeatRecord extends Heartbeat {
  readonly startedAt: Date
  readonly at: Date
  /** Time since the last heartbeat. */
  readonly silentMs: number
}

/** Stores a heartbeat and deletes heartbeats of other processes that are older than `forgetMs`. */
export async function sendHeartbeat(db: Kysely<Database>, own: Heartbeat, forgetMs: number): Promise<void> {
  const { cluster, owner, role, place, serves, wrong, everyMs } = own
  await sql`
    with forgotten as (
      delete from heartbeat where cluster = ${cluster} and owner <> ${owner}
        and at < clock_timestamp() - ${forgetMs} * interval '1 ms'
    )
    insert into heartbeat (cluster, owner, role, place, serves, wrong, every_ms, at)
    values (${cluster}, ${owner}, ${role}, ${place}, ${serves}::text[], ${wrong}::text[], ${everyMs}, clock_timestamp())
    on conflict (cluster, owner) do update set wrong = excluded.wrong, serves = excluded.serves, at = excluded.at`.execute(
    db,
  )
}

/** All stored heartbeats, also of processes that stopped recently, oldest start first. */
export async function heartbeats(db: Kysely<Database>, cluster: string): Promise<readonly HeartbeatRecord[]> {
  const { rows } = await sql<HeartbeatRecord>`
    select cluster, owner, role, place, serves, wrong, every_ms as "everyMs", started_at as "startedAt", at,
      (extract(epoch from clock_timestamp() - at) * 1000)::float8 as "silentMs"
    from heartbeat where cluster = ${cluster} order by started_at, owner`.execute(db)
  return rows
}

/** Deletes the heartbeat of a process that shuts down regularly. */
export async function endHeartbeat(db: Kysely<Database>, { cluster, owner }: Heartbeat): Promise<void> {
  await db.deleteFrom('heartbeat').where('cluster', '=', cluster).where('owner', '=', owner).execute()
}
