// Jobs of roots that people are told of by Events on their objects: those that last, those that have lasted, and those that do not come on.

import { type Kysely, sql } from 'kysely'
import type { Database } from '../database.ts'
import type { Journal } from './reader.ts'

export interface ReportableJob {
  readonly workflowID: string
  readonly controller: string
  readonly uid: string
  readonly jobID: string
  readonly namespace: string
  readonly name: string
  readonly cause: string
  readonly phase: string | null
  /** Null while it goes on. */
  readonly outcome: string | null
  readonly startedAt: Date
  readonly finishedAt: Date | null
  /** Since when it is in its phase. */
  readonly since: Date
}

export interface ReportableJobsQuery {
  readonly cluster: string
  readonly controllers: readonly string[]
  readonly what: 'lasting' | 'ended' | 'stalled'
  readonly now: Date
  /** Of lasting and ended ones: how long at least. Of stalled ones: how long in one phase. */
  readonly forMs: number
  /** Those that began, or ended, before are not told any more; of stalled ones nothing is too old. */
  readonly withinMs: number
  /** No runs of these. */
  readonly known: readonly string[]
  /** At most so many of a namespace, and at most so many of all. */
  readonly mostOfNamespace: number
  readonly most: number
}

const SINCE = sql`coalesce((j.phases -> -1 ->> 'at')::timestamptz, j.started_at)`

/** Of each namespace the oldest, first the first of each. What has an owner is no root: its parent is told of. */
export async function reportableJobs(
  db: Kysely<Database>,
  query: ReportableJobsQuery,
): Promise<readonly ReportableJob[]> {
  const { cluster, controllers, known, now, mostOfNamespace, most } = query
  const { rows } = await sql<ReportableJob>`
    with found as (
      select j.workflow_id as "workflowID", j.controller, j.uid, j.job_id as "jobID", j.namespace, j.name, j.cause, j.phase, j.outcome,
        j.started_at as "startedAt", j.finished_at as "finishedAt", ${SINCE} as since,
        row_number() over (partition by j.namespace order by j.started_at, j.workflow_id) as place
      from job j
      where j.cluster = ${cluster} and j.controller = any(${controllers}::text[]) and j.job_id <> ''
        and j.workflow_id <> all(${known}::text[]) and ${conditionOf(query, now)}
        and exists (select from object o where o.uid = j.uid and o.cluster = j.cluster and o.owner_uid is null))
    select * from found where place <= ${mostOfNamespace} order by place, "startedAt" limit ${most}`.execute(db)
  return rows
}

function conditionOf({ what, forMs, withinMs }: ReportableJobsQuery, now: Date) {
  const before = (ms: number) => sql`${new Date(now.getTime() - ms)}::timestamptz`
  switch (what) {
    case 'lasting':
      return sql`j.outcome is null and j.started_at between ${before(withinMs)} and ${before(forMs)}`
    case 'ended':
      return sql`j.outcome is not null and j.finished_at >= ${before(withinMs)}
        and j.finished_at - j.started_at >= ${forMs} * interval '1 millisecond'`
    case 'stalled':
      return sql`j.outcome is null and ${SINCE} <= ${before(forMs)}`
  }
}

// The runs of a time that is over or goes on: what an upgrade is tried with.

export interface PastRun {
  readonly workflowID: string
  readonly controller: string
  readonly namespace: string
  readonly name: string
  /** Null: it goes on. */
  readonly outcome: string | null
  readonly startedAt: Date
}

/** So many runs at most, the newest. */
export const MOST_PAST_RUNS = 10_000

/** Those that have begun since then, the earliest first. @param namespace undefined: all. */
export async function pastRuns(
  { db, cluster }: Journal,
  since: Date,
  namespace: string | undefined,
): Promise<readonly PastRun[]> {
  const rows = await db
    .selectFrom('job')
    .select(['workflow_id as workflowID', 'controller', 'namespace', 'name', 'outcome', 'started_at as startedAt'])
    .where('cluster', '=', cluster)
    .where('started_at', '>=', since)
    // Temporal has not been asked to start it yet.
    .where('run_id', 'is not', null)
    .$if(namespace !== undefined, (query) => query.where('namespace', '=', namespace ?? ''))
    .orderBy('started_at', 'desc')
    .limit(MOST_PAST_RUNS)
    .execute()
  return rows.toReversed()
}
