// Runs whose workflow task fails repeatedly: recorded by the worker that observes the failure, restarted by any worker
// that can help. Source: docs/adr/0029.
//
//   S1. A record belongs to one run by its run ID; the next run has none. In level mode all runs of an object share one
//       workflow ID.
//   S2. It keeps the time of the run's first such failure.
//   S3. A restart is claimed in the job's row: one worker restarts the run, and the next restart follows after
//       SPACING_MS at the earliest.
//   S4. The same code usually fails again, and a pass may change its object before it fails, so restarts back off
//       exponentially. Only a worker of another build that has not helped yet restarts immediately, because its code
//       may be fixed. If all builds have the bug, each such worker has tried once.

import { type Kysely, sql } from 'kysely'
import type { Database } from '../database.ts'
import type { Job, RunID } from './jobs.ts'
import { isInHandledPartition } from '../conditions.ts'
import type { Claim } from './wakes.ts'

/**
 * `misfit` (stored under this name): a non-replayable run, started by code other than this build's. `bug`: the build's
 * code throws.
 */
export type StuckReason = 'misfit' | 'bug'

export interface StuckRunReport extends RunID {
  readonly reason: StuckReason
  /** Build of the worker in which it fails. */
  readonly build: string
  readonly message: string
}

/**
 * Records that a run fails (S1, S2). @returns whether the record is new.
 */
export async function recordStuckRun(
  db: Kysely<Database>,
  { workflowID, runID, reason, build, message }: StuckRunReport,
  now: Date,
): Promise<boolean> {
  const { rows } = await sql`
    insert into stuck_run as s (workflow_id, run_id, what, build, message, at)
    values (${workflowID}, ${runID}, ${reason}, ${build}, ${message}, ${now})
    on conflict (workflow_id) do update set
      (run_id, what, build, message, at) = (excluded.run_id, excluded.what, excluded.build, excluded.message, excluded.at)
    where (s.run_id, s.what, s.build, s.message) is distinct from (excluded.run_id, excluded.what, excluded.build, excluded.message)
    returning 1`.execute(db)
  return rows.length > 0
}

/** Whether a worker has recorded that this run fails (S1). */
export async function isRecordedStuck(db: Kysely<Database>, { workflowID, runID }: RunID): Promise<boolean> {
  const { rows } = await sql`select 1 from stuck_run where workflow_id = ${workflowID} and run_id = ${runID}`.execute(
    db,
  )
  return rows.length > 0
}

/** Stores the last error of an open run until a pass settles. */
export async function recordLastError(db: Kysely<Database>, workflowID: string, error: object): Promise<void> {
  await db
    .updateTable('job')
    .set({ last_error: JSON.stringify(error) })
    .where('workflow_id', '=', workflowID)
    .where('outcome', 'is', null)
    .execute()
}

/** The open job of this run. */
export async function jobOfRun(db: Kysely<Database>, runID: string): Promise<Job | undefined> {
  return await db
    .selectFrom('job')
    .selectAll()
    .where('run_id', '=', runID)
    .where('outcome', 'is', null)
    .executeTakeFirst()
}

export async function openJobOf(db: Kysely<Database>, workflowID: string): Promise<Job | undefined> {
  return await db
    .selectFrom('job')
    .selectAll()
    .where('workflow_id', '=', workflowID)
    .where('outcome', 'is', null)
    .executeTakeFirst()
}

/** A job whose run fails. */
export interface StuckRun {
  readonly job: Job
  readonly runID: string
  readonly reason: StuckReason
  /** Build of the worker in which it failed. */
  readonly build: string
  readonly message: string
  readonly at: Date
}

/** Long enough for a pass of the new run, short enough for a waiting user. */
export const SPACING_MS = 20_000
// Back-off of restarts (S4), with the same maximum as other retries.
const FIRST_BACK_OFF_MS = 10_000
const LONGEST_BACK_OFF_MS = 1_000_000

export interface StuckQuery extends Pick<Claim, 'cluster' | 'unhandledPartitions'> {
  readonly controllers: readonly string[]
  /** Build of the calling worker. */
  readonly build: string
  /** Workflow IDs of runs with bugs of other builds that this worker has already restarted (S4). */
  readonly helpedBefore?: Iterable<string>
}

/**
 * The runs that a worker of this build may restart: non-replayable runs, and runs that met a bug of another build, or
 * of this build before their object changed. Records of ended and of replaced runs are deleted: run IDs are ordered by
 * time (UUIDv7), and the row of a run that continued as new may still have the previous ID.
 */
export async function stuckRuns(
  db: Kysely<Database>,
  { cluster, controllers, unhandledPartitions = [], build, helpedBefore = [] }: StuckQuery,
  now: Date,
): Promise<readonly StuckRun[]> {
  type Note = { stuck_run: string; stuck_what: StuckReason; stuck_build: string; stuck_message: string; stuck_at: Date }
  const { rows } = await sql<Job & Note>`
    with past as (
      delete from stuck_run s where (s.at < ${new Date(now.getTime() - SPACING_MS)}
          and not exists (select from job j where j.workflow_id = s.workflow_id and j.outcome is null))
        or exists (select from job j where j.workflow_id = s.workflow_id and j.run_id > s.run_id))
    select j.*, s.run_id as stuck_run, s.what as stuck_what, s.build as stuck_build, s.message as stuck_message, s.at as stuck_at
    from stuck_run s join job j on j.workflow_id = s.workflow_id and (j.run_id is null or j.run_id <= s.run_id)
    where j.outcome is null and j.cluster = ${cluster} and j.controller = any(${[...controllers]}::text[])
      and ${isInHandledPartition('j', unhandledPartitions)} and ${isSpacingOver(now)}
      and (s.what = 'misfit' or (s.build <> ${build} and not j.workflow_id = any(${[...helpedBefore]}::text[])) or (${isBackOffOver(now)}
        and (s.build <> ${build} or exists (select from object o where o.cluster = j.cluster and o.uid = j.uid and o.updated_at > s.at))))
    order by s.at`.execute(db)
  return rows.map(({ stuck_run, stuck_what, stuck_build, stuck_message, stuck_at, ...job }) => ({
    job,
    runID: stuck_run,
    reason: stuck_what,
    build: stuck_build,
    message: stuck_message,
    at: stuck_at,
  }))
}

/** S4 */
function isBackOffOver(now: Date) {
  return sql<boolean>`(j.restarted_at is null
    or j.restarted_at <= ${now}::timestamptz - least(${LONGEST_BACK_OFF_MS}, ${FIRST_BACK_OFF_MS} * 2.0 ^ least(j.restarts, 20)) * interval '1 ms')`
}

/**
 * Moves the time of the record to the event of a status write that reported the bug, so that this event does not count
 * as a change of the object.
 *
 * @param version the resourceVersion of that write.
 * @returns false if the journal has other events of the object since the record's time, or not this one.
 */
export async function passOverReport(
  db: Kysely<Database>,
  { job, runID }: Pick<StuckRun, 'job' | 'runID'>,
  version: string,
): Promise<boolean> {
  const { rows } = await sql`
    update stuck_run s set at = o.updated_at from object o
    where s.workflow_id = ${job.workflow_id} and s.run_id = ${runID} and o.cluster = ${job.cluster} and o.uid = ${job.uid}
      and o.resource_version = ${Number(version)}
      and not exists (select from watch_event e
        where e.cluster = o.cluster and e.uid = o.uid and e.at > s.at and e.resource_version <> o.resource_version)
    returning 1`.execute(db)
  return rows.length > 0
}

function isSpacingOver(now: Date) {
  return sql<boolean>`(j.restarted_at is null or j.restarted_at <= ${new Date(now.getTime() - SPACING_MS)})`
}

/**
 * Claims the restart of an open run (S3). @returns false: another worker has claimed it, or the run has ended.
 */
export async function claimRestart(db: Kysely<Database>, workflowID: string, now: Date): Promise<boolean> {
  const { rows } = await sql`
    update job j set restarts = j.restarts + 1, restarted_at = ${now}
    where j.workflow_id = ${workflowID} and j.outcome is null and ${isSpacingOver(now)} returning 1`.execute(db)
  return rows.length > 0
}

/** Deletes the record of a run that succeeds again or has ended (S1). */
export async function forgetStuckRun(
  db: Kysely<Database>,
  { job, runID }: Pick<StuckRun, 'job' | 'runID'>,
): Promise<void> {
  await sql`delete from stuck_run where workflow_id = ${job.workflow_id} and run_id = ${runID}`.execute(db)
}

/**
 * Open jobs of runs that a previous build started, as recorded by a migration (migrations/0006). Workers of this build
 * end these runs and start their jobs again. Records of closed and of reopened rows are deleted.
 */
export async function jobsOfFormerBuilds(
  db: Kysely<Database>,
  { cluster, controllers }: { readonly cluster: string; readonly controllers: readonly string[] },
): Promise<readonly Job[]> {
  const { rows } = await sql<Job>`
    with past as (
      delete from former_run f where not exists (
        select from job j where j.workflow_id = f.workflow_id and j.started_at = f.started_at and j.outcome is null))
    select j.* from former_run f join job j on j.workflow_id = f.workflow_id and j.started_at = f.started_at
    where j.outcome is null and j.cluster = ${cluster} and j.controller = any(${controllers}::text[])
    order by j.started_at`.execute(db)
  return rows
}
