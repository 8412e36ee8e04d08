// Daily partitions of `watch_event`: made ahead, dropped by retention. The default partition catches what falls outside.
// By the same retention go closed jobs with their actions, the last states of deleted objects, and waits that no open job has.
//
//   P1. Nothing is pruned that a pending wake or an open job may still refer to.
//   P2. Making a partition loses no row: what the default partition holds of that day moves into it.

import { type Kysely, sql, type Transaction } from 'kysely'
import type { Database } from '../database.ts'
import { pruneRetryTurns } from './backoff.ts'

const DAY_MS = 24 * 60 * 60 * 1000
const DAYS_AHEAD = 7
/** Any constant: one process at a time changes the partitions. */
const PARTITION_LOCK = 7_294_105

/** Makes the partitions of today and of the next days; returns the names of those it made. */
export async function ensurePartitions(db: Kysely<Database>, now: Date): Promise<string[]> {
  return await db.transaction().execute(async (trx) => {
    await sql`select pg_advisory_xact_lock(${PARTITION_LOCK})`.execute(trx)
    const existing = new Set((await partitionsOf(trx)).map(({ name }) => name))
    const made: string[] = []
    for (let ahead = 0; ahead <= DAYS_AHEAD; ahead++) {
      const from = startOfDay(now.getTime() + ahead * DAY_MS)
      const name = partitionName(from)
      if (existing.has(name)) continue
      await makePartition(trx, name, from)
      made.push(name)
    }
    return made
  })
}

export interface Pruned {
  readonly partitions: readonly string[]
  readonly rows: number
  /** Everything older is gone. */
  readonly before: Date
}

/** Forgets events, ended jobs and deleted objects older than `retentionMs`, yet never past the oldest pending wake or the start of an open job (P1). */
export async function pruneEvents(db: Kysely<Database>, retentionMs: number, now: Date): Promise<Pruned> {
  return await db.transaction().execute(async (trx) => {
    await sql`select pg_advisory_xact_lock(${PARTITION_LOCK})`.execute(trx)
    const needed = await oldestNeeded(trx)
    const before = new Date(Math.min(now.getTime() - retentionMs, needed?.getTime() ?? Infinity))

    const partitions = (await partitionsOf(trx)).filter(({ until }) => until.getTime() <= before.getTime())
    for (const { name } of partitions) await sql`drop table ${sql.table(name)}`.execute(trx)
    const deleted = await sql`delete from watch_event where at < ${before}`.execute(trx)
    await pruneEnded(trx, before)
    await pruneRetryTurns(trx, now)
    return { partitions: partitions.map(({ name }) => name), rows: Number(deleted.numAffectedRows ?? 0n), before }
  })
}

/** What no open job can still need (P1). A row of an action or a subscription may be there without one of its job: a worker was killed. */
async function pruneEnded(trx: Transaction<Database>, before: Date): Promise<void> {
  await sql`delete from action a where a.started_at < ${before} and not exists (
    select from job j where j.workflow_id = a.workflow_id and j.job_id <> ''
      and (j.outcome is null or j.finished_at >= ${before}))`.execute(trx)
  // Those of level runs (job ID '') stay while their object is there, also when no run is open.
  await sql`delete from subscription s where s.created_at < ${before} and s.job_id <> '' and not exists (
    select from job j where j.controller = s.controller and j.uid = s.uid and j.job_id = s.job_id and j.outcome is null)`.execute(
    trx,
  )
  await sql`delete from job where outcome is not null and finished_at < ${before}`.execute(trx)
  await sql`delete from hosted_job h where not exists (select from job j where j.workflow_id = h.workflow_id)`.execute(
    trx,
  )
  await sql`delete from object where deleted and updated_at < ${before}`.execute(trx)
}

// A level run (job ID '') looks at its object anew in every pass, and may be open for years.
async function oldestNeeded(trx: Transaction<Database>): Promise<Date | undefined> {
  const { rows } = await sql<{ oldest: Date | null }>`
    select least(
      (select min(at) from watch_event where seq = (select min(seq) from wake)),
      (select min(started_at) from job where outcome is null and job_id <> '')
    ) as oldest`.execute(trx)
  return rows[0]?.oldest ?? undefined
}

async function makePartition(trx: Transaction<Database>, name: string, from: Date): Promise<void> {
  const until = new Date(from.getTime() + DAY_MS)
  const table = sql.table(name)
  // Attached when it is full: creating it as a partition is refused while the default partition holds rows of that day.
  await sql`create table ${table} (like watch_event including defaults including constraints)`.execute(trx)
  await sql`with moved as (delete from only watch_event_default where at >= ${from} and at < ${until} returning *)
    insert into ${table} select * from moved`.execute(trx)
  await sql`alter table watch_event attach partition ${table}
    for values from (${sql.lit(from.toISOString())}) to (${sql.lit(until.toISOString())})`.execute(trx)
}

interface Partition {
  readonly name: string
  readonly until: Date
}

async function partitionsOf(trx: Transaction<Database>): Promise<Partition[]> {
  const { rows } = await sql<{ name: string }>`
    select c.relname as name from pg_inherits i join pg_class c on c.oid = i.inhrelid
    where i.inhparent = 'watch_event'::regclass order by 1`.execute(trx)
  return rows.flatMap(({ name }) => {
    const day = /^watch_event_(\d{4})(\d\d)(\d\d)$/.exec(name)
    if (day === null) return []
    return [{ name, until: new Date(Date.UTC(Number(day[1]), Number(day[2]) - 1, Number(day[3])) + DAY_MS) }]
  })
}

function startOfDay(at: number): Date {
  return new Date(Math.floor(at / DAY_MS) * DAY_MS)
}

function partitionName(day: Date): string {
  return `watch_event_${day.toISOString().slice(0, 10).replaceAll('-', '')}`
}
