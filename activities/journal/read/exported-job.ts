// Exports all rows of one job: its run, the jobs that the run hosts, its writes, and the events of the objects
// involved. The rows contain no bodies and no secrets, so they may be shared.

import { sql } from 'kysely'
import type { Json } from '../database.ts'
import type { Journal } from './reader.ts'

/** An unchanged row of a table. */
export type Row = Json

export interface ExportedRows {
  /** The row of `job`. Undefined: it was pruned. */
  readonly job: Row | undefined
  readonly hostedJobs: readonly Row[]
  /** Rows of `action`, in order. */
  readonly writes: readonly Row[]
  /** Rows of `watch_event` of the run's objects, from the event that started the run; in order. */
  readonly events: readonly Row[]
  readonly awaited: readonly Row[]
  readonly wakes: readonly Row[]
  /** Tables with more rows than the export contains. */
  readonly cut: readonly string[]
  /** Number of rows that `pawl api` left out because the user may not see their objects. Absent: none. */
  readonly unseen?: number
}

/** Maximum number of exported rows of a table; the newest are exported. */
export const MOST_EXPORTED = 20_000
// A worker's clock may be behind the bridge's clock.
const MARGIN_MS = 60_000

/**
 * @param uid the object that the job belongs to.
 */
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

/**
 * The events with these numbers, of any object: those that woke a run.
 *
 * @param since excludes earlier events.
 */
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
    // Excludes older partitions. The margin covers differences between the clocks of machines.
    .where('at', '>=', new Date(since.getTime() - MARGIN_MS))
    .orderBy('seq')
    .execute()
}

/** The time of the last waking event before the run began: this event, or a later one, started the run. */
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
