// Permits of passes: a semaphore in the journal for controllers that limit their concurrent passes (`settings.passes`).
// Source: docs/adr/0032.
//
//   T1. A permit belongs to an object. Its run acquires it before a pass and releases it after settle. Acquiring it
//       twice takes one permit.
//   T2. The limit holds for all workers of the cluster: permits are counted under an advisory lock of the controller.
//   T3. A permit does not count if its run is not open, failed with a bug and waits for other code, or never observed
//       with it (a stopped worker acquired it late). The row of a run may be stored after its first pass began, so each
//       permit counts for GRACE_MS.
//   T4. No connection waits for the lock, or for a wake while it has the lock: a run that does not get the lock is
//       woken again a little later. That wake is stored before the run gets its answer, so a process that stops in
//       between repeats the request.

import { sql, type Kysely, type RawBuilder } from 'kysely'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Database } from '../database.ts'
import { upsertWakes, WAKE_CHANNEL } from './wakes.ts'

export interface PassPermit {
  readonly cluster: string
  readonly controller: string
  readonly uid: string
}

/** The requesting run. */
export interface PermitRequest extends PassPermit {
  readonly workflowID: string
  readonly namespace: string
  readonly name: string
}

const GRACE_MS = 60_000

/** Whether a permit counts (T3). */
function isActive(now: Date): RawBuilder<unknown> {
  const isOpen = sql`select from job j where j.workflow_id = t.workflow_id and j.outcome is null`
  return sql`((t.since > ${new Date(now.getTime() - GRACE_MS)}
      or exists (${isOpen} and (j.last_pass_at is null or j.last_pass_at >= t.since)))
    and not exists (${isOpen} and j.last_error ->> 'reason' = 'Bug'))`
}

// The lock is held for some milliseconds; a process that stops with the lock keeps it until PostgreSQL ends its
// transaction.
const TRIES = 6
const BETWEEN_MS = { least: 5, most: 20 }
// Counted from the request; the tries use up to 100 ms of it.
const RETRY_MS = 200

/**
 * Acquires the permit of an object if fewer than `most` permits of its controller are held; otherwise stores a wake
 * that is delivered when a permit is free (T4).
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
    // T2, T4. A separate statement: the next one must see the rows of the previous lock holder.
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

/** Releases the permit of an object and notifies the dispatchers. A missing permit is not an error. */
export async function releasePermit(db: Kysely<Database>, { cluster, controller, uid }: PassPermit): Promise<void> {
  await sql`
    with given as (
      delete from pass_turn where cluster = ${cluster} and controller = ${controller} and uid = ${uid} returning 1)
    select pg_notify(${WAKE_CHANNEL}, '') from given`.execute(db)
}

/** The uids that hold permits, by controller; a controller without permits is missing. */
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

/** Deletes permits that no longer count. */
export async function prunePermits(db: Kysely<Database>, now: Date): Promise<void> {
  await sql`delete from pass_turn t where not ${isActive(now)}`.execute(db)
}
