// What goes by retention: days of events, closed jobs with their actions, the last states of deleted objects, and waits that no open job has.
//
//   P1. Nothing is pruned that a pending wake or an open job may still refer to. Each keeps its own rows only: a job that is open for ever costs
//       nobody else's days.
//   P4. It goes in small steps, each a statement of its own: a process that journals waits for none of them, and one that dies has done a part. A step
//       that fails keeps no other from being done.

import { type Kysely, type RawBuilder, sql } from 'kysely'
import type { Database } from '../database.ts'
import { pruneRetryBuckets } from './retry-limits.ts'
import { dropPartition, type Partition, partitionsBefore } from './partitions.ts'
import { prunePermits } from './pass-permits.ts'

const BATCH = 5000

export interface PruneResult {
  /** Names of the partitions that are gone. */
  readonly partitions: readonly string[]
  /** How many events went out of partitions that have to stay. */
  readonly rows: number
  /** Days that were over then are gone, but for what is needed. */
  readonly before: Date
}

/** Any constant: one process at a time prunes. It is the connection's, so it goes with a process that dies. */
const PRUNE_LOCK = 7_294_106

/**
 * Forgets days of events that were over `retentionMs` ago, and jobs and deleted objects that ended before that, but what is needed (P1).
 *
 * @returns undefined when another process is at it.
 */
export async function pruneJournal(
  db: Kysely<Database>,
  retentionMs: number,
  now: Date,
): Promise<PruneResult | undefined> {
  return await db.connection().execute(async (connection) => {
    const { rows } = await sql<{ locked: boolean }>`select pg_try_advisory_lock(${PRUNE_LOCK}) as locked`.execute(
      connection,
    )
    if (rows[0]?.locked !== true) return undefined
    try {
      return await prune(connection, new Date(now.getTime() - retentionMs), now)
    } finally {
      await sql`select pg_advisory_unlock(${PRUNE_LOCK})`.execute(connection)
    }
  })
}

async function prune(db: Kysely<Database>, before: Date, now: Date): Promise<PruneResult> {
  const gone: string[] = []
  let rows = 0
  const steps = [
    async () => {
      rows += await pruneRows(db, 'watch_event_default', (event) => sql`${event}.at < ${before}`)
    },
    ...(await partitionsBefore(db, before)).map((partition) => async () => {
      if (await isNeeded(db, partition)) rows += await pruneRows(db, partition.name, () => sql`true`)
      else if (await dropPartition(db, partition)) gone.push(partition.name)
    }),
    ...pruneTableSteps(db, before),
    async () => await pruneRetryBuckets(db, now),
    async () => await prunePermits(db, now),
  ]
  const failures: unknown[] = []
  for (const step of steps) await step().catch((error: unknown) => failures.push(error))
  if (failures.length > 0) throw new AggregateError(failures, `retention: ${failures.map(String).join('; ')}`)
  return { partitions: gone, rows, before }
}

// Of an open job: the events of its subject, of the objects that its run hosts and of those that the subject owns, from the one on that it began
// with. A level run (job ID '') looks at its object anew in every pass, and may be open for years: it keeps none.
const KEPT_EVENTS = sql`kept as materialized (
  select k.uid, begun.since
  from job j
  cross join lateral (select coalesce(
    (select max(w.at) from watch_event w where w.uid = j.uid and w.outcome = 'wake' and w.at <= j.started_at), j.started_at) as since) begun
  cross join lateral (
    select j.uid union select h.uid from hosted_job h where h.workflow_id = j.workflow_id
    union select o.uid from object o where o.owner_uid = j.uid and o.namespace = j.namespace) k
  where j.outcome is null and j.job_id <> '')`

// Each by a join of its own, so that a day is gone through once.
const needed = (event: RawBuilder<unknown>) => ({
  byWake: sql`select from wake w where w.seq = ${event}.seq`,
  byJob: sql`select from kept k where k.uid = ${event}.uid and k.since <= ${event}.at`,
})

async function isNeeded(db: Kysely<Database>, { name }: Partition): Promise<boolean> {
  const { byWake, byJob } = needed(sql.ref('e'))
  const { rows } = await sql<{ needed: boolean }>`with ${KEPT_EVENTS}
    select exists (select from ${sql.table(name)} e where exists (${byWake}))
      or exists (select from ${sql.table(name)} e where exists (${byJob})) as needed`.execute(db)
  return rows[0]?.needed ?? true
}

/** Deletes what is not needed of the events that are meant. */
async function pruneRows(
  db: Kysely<Database>,
  table: string,
  isMeant: (event: RawBuilder<unknown>) => RawBuilder<unknown>,
): Promise<number> {
  const event = sql.ref('e')
  const { byWake, byJob } = needed(event)
  return await inBatches(
    async () =>
      await sql`with ${KEPT_EVENTS} delete from ${sql.table(table)} where ctid = any(array(
        select e.ctid from ${sql.table(table)} e
        where ${isMeant(event)} and not exists (${byWake}) and not exists (${byJob}) limit ${BATCH}))`.execute(db),
  )
}

interface PrunableTable {
  readonly table: string
  /** Which rows of it may go. */
  readonly select: RawBuilder<unknown>
  /** Deletes some of them. */
  readonly statement: RawBuilder<unknown>
}

/** What no open job can still need (P1). A row of an action or a subscription may be there without one of its job: a worker was killed. */
function prunableTables(before: Date): readonly PrunableTable[] {
  const actions = sql`from action a where a.started_at < ${before} and not exists (
      select from job j where j.workflow_id = a.workflow_id and j.job_id <> ''
        and (j.outcome is null or j.finished_at >= ${before}))`
  // Those of level runs (job ID '') stay while their object is there, also when no run is open.
  const subscriptions = sql`from subscription s
      where s.created_at < ${before} and s.job_id <> '' and not exists (
        select from job j where j.controller = s.controller and j.uid = s.uid and j.job_id = s.job_id and j.outcome is null)`
  const jobs = sql`from job where outcome is not null and finished_at < ${before}`
  const hosted = sql`from hosted_job h where not exists (select from job j where j.workflow_id = h.workflow_id)`
  // Rows of jobs go first, and then what they hosted.
  const hostedThen = sql`from hosted_job h where not exists (select from job j where j.workflow_id = h.workflow_id
      and not (j.outcome is not null and j.finished_at < ${before}))`
  const objects = sql`from object o where o.deleted and o.updated_at < ${before} and not exists (
        select from job j where j.outcome is null and j.job_id <> ''
          and (j.uid = o.uid or j.uid = o.owner_uid and j.namespace = o.namespace))`
  return [
    {
      table: 'action',
      select: actions,
      statement: sql`delete from action where seq = any(array(select a.seq ${actions} limit ${BATCH}))`,
    },
    {
      table: 'subscription',
      select: subscriptions,
      statement: sql`delete from subscription where ctid = any(array(select s.ctid ${subscriptions} limit ${BATCH}))`,
    },
    {
      table: 'job',
      select: jobs,
      statement: sql`delete from job where workflow_id = any(array(select workflow_id ${jobs} limit ${BATCH}))
        and outcome is not null and finished_at < ${before}`,
    },
    {
      table: 'hosted_job',
      select: hostedThen,
      statement: sql`delete from hosted_job where ctid = any(array(select h.ctid ${hosted} limit ${BATCH}))`,
    },
    {
      table: 'object',
      select: objects,
      statement: sql`delete from object where deleted and (cluster, api_group, kind, uid) in (
        select o.cluster, o.api_group, o.kind, o.uid ${objects} limit ${BATCH}) and updated_at < ${before}`,
    },
  ]
}

function pruneTableSteps(db: Kysely<Database>, before: Date): readonly (() => Promise<unknown>)[] {
  return prunableTables(before).map(
    ({ statement }) =>
      async () =>
        await inBatches(async () => await statement.execute(db)),
  )
}

export interface PruningPreview {
  readonly before: Date
  /** Of days that are over: which go as a whole, and how many events go of those that something still needs. */
  readonly partitions: readonly { readonly name: string; readonly events: number; readonly isWhole: boolean }[]
  /** Events outside of all days. */
  readonly rows: number
  /** Of other tables, by name. */
  readonly ended: Readonly<Record<string, number>>
}

/** What `pruneJournal` would forget, were it told to now. Changes nothing. */
export async function previewPruning(db: Kysely<Database>, before: Date): Promise<PruningPreview> {
  const partitions: PruningPreview['partitions'][number][] = []
  for (const partition of await partitionsBefore(db, before)) {
    const isWhole = !(await isNeeded(db, partition))
    partitions.push({ name: partition.name, events: await countRows(db, partition.name, () => sql`true`), isWhole })
  }
  const rows = await countRows(db, 'watch_event_default', (event) => sql`${event}.at < ${before}`)
  const ended: Record<string, number> = {}
  for (const { table, select } of prunableTables(before)) {
    const { rows: counted } = await sql<{ count: number }>`select count(*) as count ${select}`.execute(db)
    ended[table] = counted[0]?.count ?? 0
  }
  return { before, partitions, rows, ended }
}

async function countRows(
  db: Kysely<Database>,
  table: string,
  isMeant: (event: RawBuilder<unknown>) => RawBuilder<unknown>,
): Promise<number> {
  const { byWake, byJob } = needed(sql.ref('e'))
  const { rows } = await sql<{ count: number }>`with ${KEPT_EVENTS} select count(*) as count from ${sql.table(table)} e
    where ${isMeant(sql.ref('e'))} and not exists (${byWake}) and not exists (${byJob})`.execute(db)
  return rows[0]?.count ?? 0
}

async function inBatches(prune: () => Promise<{ readonly numAffectedRows?: bigint }>): Promise<number> {
  let all = 0
  for (;;) {
    const gone = Number((await prune()).numAffectedRows ?? 0n)
    all += gone
    if (gone < BATCH) return all
  }
}
