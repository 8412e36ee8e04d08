// Retention: prunes days of events, closed jobs with their actions, states of deleted objects, and subscriptions
// without an open job.
//
//   P1. Rows that a pending wake or an open job may need are kept. Each job keeps only its own rows, so a job that
//       stays open for ever does not keep whole days.
//   P4. Pruning runs in small statements: no process that journals waits for it, and a process that dies has pruned a
//       part. A failed step does not prevent the others.

import { type Kysely, type RawBuilder, sql } from 'kysely'
import type { Database } from '../database.ts'
import { pruneRetryBuckets } from './retry-limits.ts'
import { dropPartition, type Partition, partitionsBefore } from './partitions.ts'
import { prunePermits } from './pass-permits.ts'

const BATCH = 5000

export interface PruneResult {
  /** Names of the dropped partitions. */
  readonly partitions: readonly string[]
  /** Number of events deleted from partitions that stay. */
  readonly rows: number
  /** Events before this time were pruned unless needed. */
  readonly before: Date
}

/** Key of the advisory lock of pruning; any constant. The lock belongs to the connection and ends with its process. */
const PRUNE_LOCK = 7_294_106

/**
 * Prunes days of events that ended `retentionMs` ago, and jobs and deleted objects that ended before, unless they are
 * needed (P1).
 *
 * @returns undefined when another process is pruning.
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

// For an open job: the events of its subject, its hosted objects and the subject's children, from the event that
// started the job. A level run (job ID '') observes its object again in every pass and may be open for years, so it
// keeps no events.
const KEPT_EVENTS = sql`kept as materialized (
  select k.uid, begun.since
  from job j
  cross join lateral (select coalesce(
    (select max(w.at) from watch_event w where w.uid = j.uid and w.outcome = 'wake' and w.at <= j.started_at), j.started_at) as since) begun
  cross join lateral (
    select j.uid union select h.uid from hosted_job h where h.workflow_id = j.workflow_id
    union select o.uid from object o where o.owner_uid = j.uid and o.namespace = j.namespace) k
  where j.outcome is null and j.job_id <> '')`

// Two separate joins, so that each day is scanned once.
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

/** Deletes the selected events that are not needed. */
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
  /** The rows to prune. */
  readonly select: RawBuilder<unknown>
  /** Deletes one batch of them. */
  readonly statement: RawBuilder<unknown>
}

/** Rows that no open job needs (P1). An action or subscription may exist without a job row: its worker was killed. */
function prunableTables(before: Date): readonly PrunableTable[] {
  const actions = sql`from action a where a.started_at < ${before} and not exists (
      select from job j where j.workflow_id = a.workflow_id and j.job_id <> ''
        and (j.outcome is null or j.finished_at >= ${before}))`
  // Subscriptions of level runs (job ID '') stay while their object exists, also without an open run.
  const subscriptions = sql`from subscription s
      where s.created_at < ${before} and s.job_id <> '' and not exists (
        select from job j where j.controller = s.controller and j.uid = s.uid and j.job_id = s.job_id and j.outcome is null)`
  const jobs = sql`from job where outcome is not null and finished_at < ${before}`
  const hosted = sql`from hosted_job h where not exists (select from job j where j.workflow_id = h.workflow_id)`
  // Job rows are deleted first, then the rows that they hosted.
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
  /** Partitions of past days: whether the whole partition is dropped, or how many of its events are pruned. */
  readonly partitions: readonly { readonly name: string; readonly events: number; readonly isWhole: boolean }[]
  /** Events in the default partition. */
  readonly rows: number
  /** Number of rows of other tables, by table. */
  readonly ended: Readonly<Record<string, number>>
}

/** Returns the effect of `pruneJournal` without changing anything. */
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
