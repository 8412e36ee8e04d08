// All that the journal has of one job: the row of its run, the jobs that the run hosts, what it wrote, and the events of the objects that it had to do
// with. Bodies and secrets are in none of these rows, so they may be given away as they are.

import { sql } from 'kysely'
import type { Json } from '../database.ts'
import type { Journal } from './reader.ts'

/** A row as it is in its table. */
export type Row = Json

export interface ExportedRows {
  /** Of `job`: the run. Undefined: it was pruned. */
  readonly job: Row | undefined
  readonly hostedJobs: readonly Row[]
  /** Of `action`, in order. */
  readonly writes: readonly Row[]
  /** Of `watch_event`, of the run's objects from the event on that began it; in order. */
  readonly events: readonly Row[]
  readonly awaited: readonly Row[]
  readonly wakes: readonly Row[]
  /** The tables of which there are more rows than are exported. */
  readonly cut: readonly string[]
  /** How many rows about objects that the asker may not see are left out (`pawl api`). Absent: none. */
  readonly unseen?: number
}

/** So many rows of a table are exported at most, the newest. */
export const MOST_EXPORTED = 20_000
// A clock of a worker may be before that of the bridge.
const MARGIN_MS = 60_000

/** @param uid of the object whose job it is. */
export async function exportedRows({ db, cluster }: Journal, workflowID: string, uid: string): Promise<ExportedRows> {
  const job = await db
    .selectFrom('job')
    .selectAll()
    .where('workflow_id', '=', workflowID)
    .where('cluster', '=', cluster)
    .executeTakeFirst()
  const hostedJobs = await db.selectFrom('hosted_job').selectAll().where('workflow_id', '=', workflowID).execute()
  const writes = await db
    .selectFrom('action')
    .selectAll()
    .where('workflow_id', '=', workflowID)
    .orderBy('started_at', 'desc')
    .limit(MOST_EXPORTED + 1)
    .execute()
  const uids = [...new Set([uid, ...(job === undefined ? [] : [job.uid]), ...hostedJobs.map((hosted) => hosted.uid)])]
  const since = await beginOf({ db, cluster }, uid, job?.started_at)
  const until = job?.finished_at == null ? undefined : new Date(job.finished_at.getTime() + MARGIN_MS)
  const events = await db
    .selectFrom('watch_event')
    .selectAll()
    .where(sql<boolean>`uid = any(${uids}::text[])`)
    .where('cluster', '=', cluster)
    .$if(since !== undefined, (query) => query.where('at', '>=', since ?? new Date(0)))
    .$if(until !== undefined, (query) => query.where('at', '<=', until ?? new Date(0)))
    .orderBy('at', 'desc')
    .limit(MOST_EXPORTED + 1)
    .execute()
  const controllers = [...new Set([job, ...hostedJobs].flatMap((one) => one?.controller ?? []))]
  const of = sql<boolean>`controller = any(${controllers}::text[]) and uid = any(${uids}::text[])`
  const tables = { writes, events }
  return {
    job,
    hostedJobs,
    writes: writes.slice(0, MOST_EXPORTED).toSorted((left, right) => left.seq - right.seq),
    events: events.slice(0, MOST_EXPORTED).toSorted((left, right) => left.seq - right.seq),
    awaited: await db.selectFrom('subscription').selectAll().where(of).limit(MOST_EXPORTED).execute(),
    wakes: await db.selectFrom('wake').selectAll().where(of).limit(MOST_EXPORTED).execute(),
    cut: Object.entries(tables).flatMap(([name, rows]) => (rows.length > MOST_EXPORTED ? [name] : [])),
  }
}

/** The events of these numbers, of whatever object: those that woke a run. @param since nothing before. */
export async function eventsAt(
  { db, cluster }: Journal,
  seqs: readonly number[],
  since: Date,
): Promise<readonly Row[]> {
  if (seqs.length === 0) return []
  return await db
    .selectFrom('watch_event')
    .selectAll()
    .where(sql<boolean>`seq = any(${[...seqs]}::int8[])`)
    .where('cluster', '=', cluster)
    // Leaves the partitions before out; clocks of machines differ.
    .where('at', '>=', new Date(since.getTime() - MARGIN_MS))
    .orderBy('seq')
    .execute()
}

/** When the last event came before the run began: it, or a later one, led to it. */
async function beginOf({ db, cluster }: Journal, uid: string, startedAt: Date | undefined): Promise<Date | undefined> {
  if (startedAt === undefined) return undefined
  const { at } = await db
    .selectFrom('watch_event')
    .select((is) => is.fn.max<Date | null>('at').as('at'))
    .where('uid', '=', uid)
    .where('cluster', '=', cluster)
    .where('outcome', '=', 'wake')
    .where('at', '<=', startedAt)
    .executeTakeFirstOrThrow()
  return at ?? new Date(startedAt.getTime() - MARGIN_MS)
}
