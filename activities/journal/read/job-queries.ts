// Queries over jobs: root jobs that Pawl reports by Events on their objects, and past runs to replay against a new
// build.

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
  readonly outcome: string | null
  readonly startedAt: Date
  readonly finishedAt: Date | null
  /** Start of the current phase. */
  readonly since: Date
}

export interface ReportableJobsQuery {
  readonly cluster: string
  readonly controllers: readonly string[]
  readonly what: 'lasting' | 'ended' | 'stalled'
  readonly now: Date
  /** For lasting and ended jobs: the minimum duration. For stalled jobs: the minimum time in one phase. */
  readonly forMs: number
  /** Jobs that began (lasting) or ended (ended) earlier are not reported. Stalled jobs have no limit. */
  readonly withinMs: number
  /** Workflow IDs to exclude. */
  readonly known: readonly string[]
  /** Maximum number per namespace, and in total. */
  readonly mostOfNamespace: number
  readonly most: number
}

const SINCE = sql`coalesce((j.phases -> -1 ->> 'at')::timestamptz, j.started_at)`

/**
 * The oldest jobs of each namespace; the first job of every namespace comes first. Objects with an owner are excluded,
 * because their root is reported.
 */
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

export interface PastRun {
  readonly workflowID: string
  readonly controller: string
  readonly namespace: string
  readonly name: string
  /** Null while the job is open. */
  readonly outcome: string | null
  readonly startedAt: Date
}

/** Maximum number of runs; the newest are returned. */
export const MOST_PAST_RUNS = 10_000

/**
 * Runs that began since then, the earliest first.
 *
 * @param namespace undefined: all.
 */
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
    // Excludes runs that are not started in Temporal yet.
    .where('run_id', 'is not', null)
    .$if(namespace !== undefined, (query) => query.where('namespace', '=', namespace ?? ''))
    .orderBy('started_at', 'desc')
    .limit(MOST_PAST_RUNS)
    .execute()
  return rows.toReversed()
}
