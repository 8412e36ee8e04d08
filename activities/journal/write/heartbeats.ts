// Which processes of the engine live, by what they say themselves. Times are the database's, so that no two machines' clocks are compared.

import { type Kysely, sql } from 'kysely'
import type { Database } from '../database.ts'

/** What a process says of itself. */
export interface Heartbeat {
  readonly cluster: string
  /** This start of the process. */
  readonly owner: string
  readonly role: 'bridge' | 'worker'
  /** The pod or machine, for people. */
  readonly place: string
  /** The controllers that a worker runs; those for which a bridge follows objects, and which some worker has to run. */
  readonly serves: readonly string[]
  /** The parts that are not well, by name. */
  readonly wrong: readonly string[]
  /** How often it says so. */
  readonly everyMs: number
}

/** The same as others see it. */
export interface HeartbeatRecord extends Heartbeat {
  readonly startedAt: Date
  readonly at: Date
  /** For how long it has been silent. */
  readonly silentMs: number
}

/** Says that the process lives, and forgets others that have been silent for this long. */
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

/** All that live, and those that fell silent and are not forgotten yet, oldest first. */
export async function heartbeats(db: Kysely<Database>, cluster: string): Promise<readonly HeartbeatRecord[]> {
  const { rows } = await sql<HeartbeatRecord>`
    select cluster, owner, role, place, serves, wrong, every_ms as "everyMs", started_at as "startedAt", at,
      (extract(epoch from clock_timestamp() - at) * 1000)::float8 as "silentMs"
    from heartbeat where cluster = ${cluster} order by started_at, owner`.execute(db)
  return rows
}

/** The process ends as it should: nobody misses it. */
export async function endHeartbeat(db: Kysely<Database>, { cluster, owner }: Heartbeat): Promise<void> {
  await db.deleteFrom('heartbeat').where('cluster', '=', cluster).where('owner', '=', owner).execute()
}
