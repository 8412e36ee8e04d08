// Which passes are under way, of controllers that bound how many may be (`settings.passes`). Source: docs/adr/0032.
//
//   T1. A turn is the object's: its run takes it before a pass, has it until that is settled, and has it once, however often it asks.
//   T2. The bound holds for all workers of the cluster: who takes a turn counts under a lock of the controller.
//   T3. A turn keeps nobody waiting whose run is not open any more, has met a bug and waits for other code, or never looked at the world with it: a
//       worker that was stopped took it late. The row of a run may be written after its first pass has begun, so a turn counts for LONE_MS anyway.
//   T4. Nobody waits for the lock, nor for a wake with the lock, on a connection that others need: who does not get it comes again a little later. That
//       wake is written after the lock, and before the run is answered: who is stopped between the two is asked again.

import { sql, type Kysely, type RawBuilder } from 'kysely'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Database } from '../database.ts'
import { upsertWakes, WAKE_CHANNEL } from './wakes.ts'

export interface PassPermit {
  readonly cluster: string
  readonly controller: string
  readonly uid: string
}

/** Who asks for a turn. */
export interface PermitRequest extends PassPermit {
  readonly workflowID: string
  readonly namespace: string
  readonly name: string
}

const GRACE_MS = 60_000

/** T3 */
function isActive(now: Date): RawBuilder<unknown> {
  const isOpen = sql`select from job j where j.workflow_id = t.workflow_id and j.outcome is null`
  return sql`((t.since > ${new Date(now.getTime() - GRACE_MS)}
      or exists (${isOpen} and (j.last_pass_at is null or j.last_pass_at >= t.since)))
    and not exists (${isOpen} and j.last_error ->> 'reason' = 'Bug'))`
}

// Whoever has the lock has it for some milliseconds; but one that is stopped in there has it until PostgreSQL ends its transaction.
const TRIES = 6
const BETWEEN_MS = { least: 5, most: 20 }
// From when it was asked for: the tries take up to 100 ms of that.
const RETRY_MS = 200

/**
 * Takes the turn of an object, when fewer than `most` of its controller's are taken; else leaves a wake, which is brought when one is free (T4).
 *
 * @returns whether the pass may begin.
 */
export async function acquirePermit(
  db: Kysely<Database>,
  taker: PermitRequest,
  most: number,
  now: Date,
): Promise<boolean> {
  const answer = await requestPermit(db, taker, most, now)
  if (answer === 'taken') return true
  const { cluster, controller, uid, namespace, name } = taker
  const due = answer === 'contended' ? new Date(now.getTime() + RETRY_MS) : now
  const wake = { controller, uid, job_id: '', cluster, namespace, name, seq: 0, due, cause: 'waits for its turn' }
  await upsertWakes(db, [{ ...wake, foreign_event: true, may_start: true, writer: null }], now)
  return false
}

type Answer = 'taken' | 'full' | 'contended'

async function requestPermit(db: Kysely<Database>, taker: PermitRequest, most: number, now: Date): Promise<Answer> {
  for (let tries = 1; ; tries++) {
    const answer = await tryAcquire(db, taker, most, now)
    if (answer !== 'contended' || tries === TRIES) return answer
    await sleep(BETWEEN_MS.least + Math.random() * (BETWEEN_MS.most - BETWEEN_MS.least))
  }
}

async function tryAcquire(
  db: Kysely<Database>,
  { cluster, controller, uid, workflowID }: PermitRequest,
  most: number,
  now: Date,
): Promise<Answer> {
  return await db.transaction().execute(async (trx) => {
    // T2, T4. In a statement of its own: the next one has to see what the last one who had the lock has written.
    const lock = sql`hashtextextended(${`pawl passes ${cluster} ${controller}`}, 0)`
    const locked = await sql<{ isOurs: boolean }>`select pg_try_advisory_xact_lock(${lock}) as "isOurs"`.execute(trx)
    if (locked.rows[0]?.isOurs !== true) return 'contended'
    const { rows } = await sql`
      insert into pass_turn (cluster, controller, uid, workflow_id, since)
      select ${cluster}, ${controller}, ${uid}, ${workflowID}, ${now}
      where (select count(*) from pass_turn t where t.cluster = ${cluster} and t.controller = ${controller} and t.uid <> ${uid}
        and ${isActive(now)}) < ${most}
      on conflict (cluster, controller, uid) do update set workflow_id = excluded.workflow_id, since = excluded.since
      returning 1`.execute(trx)
    return rows.length > 0 ? 'taken' : 'full'
  })
}

/** Gives an object's turn back, and tells the dispatchers. One that it has not is no error. */
export async function releasePermit(db: Kysely<Database>, { cluster, controller, uid }: PassPermit): Promise<void> {
  await sql`
    with given as (
      delete from pass_turn where cluster = ${cluster} and controller = ${controller} and uid = ${uid} returning 1)
    select pg_notify(${WAKE_CHANNEL}, '') from given`.execute(db)
}

/** Whose turns of these controllers are taken: the uids by controller; one that has none is missing. */
export async function permitHolders(
  db: Kysely<Database>,
  { cluster, controllers }: { readonly cluster: string; readonly controllers: readonly string[] },
  now: Date,
): Promise<ReadonlyMap<string, readonly string[]>> {
  const { rows } = await sql<{ controller: string; uids: string[] }>`
    select t.controller, array_agg(t.uid) as uids from pass_turn t
    where t.cluster = ${cluster} and t.controller = any(${controllers}::text[]) and ${isActive(now)} group by t.controller`.execute(
    db,
  )
  return new Map(rows.map(({ controller, uids }) => [controller, uids]))
}

/** Forgets turns that count no more. */
export async function prunePermits(db: Kysely<Database>, now: Date): Promise<void> {
  await sql`delete from pass_turn t where not ${isActive(now)}`.execute(db)
}
