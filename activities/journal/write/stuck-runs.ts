// Runs whose workflow task fails again and again: noted by the worker that sees it, found by every worker that may help.
// Source: docs/adr/0029.
//
//   S1. A note is of one run, by its run ID: the run that takes its place has none. In level mode all runs of an object have one workflow ID.
//   S2. It keeps the time at which the run first failed so.
//   S3. A restart is claimed in the row of the job: of several workers one makes it, and not the next one before SPACING_MS.
//   S4. A bug is met again by the code that has it, as a rule, and a pass may change its own object before it gets there. So its restarts come ever
//       more rarely. Only a worker of another build that has not helped yet does so at once: its code may be the better one. If all builds have the
//       bug, each such worker has tried once.

import { type Kysely, sql } from 'kysely'
import type { Database } from '../database.ts'
import type { Job, RunID } from './jobs.ts'
import { isInHandledPartition } from '../conditions.ts'
import type { Claim } from './wakes.ts'

/** `misfit`: the run was made by other code than that of the build. `bug`: the code of the build throws. */
export type StuckReason = 'misfit' | 'bug'

export interface StuckRunReport extends RunID {
  readonly reason: StuckReason
  /** Of the worker in which it fails. */
  readonly build: string
  readonly message: string
}

/** Notes that a run fails (S1, S2). @returns whether that is news. */
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

/** Whether a worker has noted that this very run fails, so that it is looked after (S1). */
export async function isRecordedStuck(db: Kysely<Database>, { workflowID, runID }: RunID): Promise<boolean> {
  const { rows } = await sql`select 1 from stuck_run where workflow_id = ${workflowID} and run_id = ${runID}`.execute(
    db,
  )
  return rows.length > 0
}

/** What the open row of a run says went wrong, until a pass is settled. */
export async function recordLastError(db: Kysely<Database>, workflowID: string, error: object): Promise<void> {
  await db
    .updateTable('job')
    .set({ last_error: JSON.stringify(error) })
    .where('workflow_id', '=', workflowID)
    .where('outcome', 'is', null)
    .execute()
}

/** The open job that this run is known by. */
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
  /** Of the worker in which it failed. */
  readonly build: string
  readonly message: string
  readonly at: Date
}

/** Long enough for the pass of the new run, short enough for somebody who waits for it. */
export const SPACING_MS = 20_000
// S4. The longest is that of other retries.
const FIRST_BACK_OFF_MS = 10_000
const LONGEST_BACK_OFF_MS = 1_000_000

export interface StuckQuery extends Pick<Claim, 'cluster' | 'unhandledPartitions'> {
  readonly controllers: readonly string[]
  /** Of the worker that asks. */
  readonly build: string
  /** Workflow IDs of those whose bugs of other builds it has helped with (S4). */
  readonly helpedBefore?: Iterable<string>
}

/**
 * The runs that a worker of this build may start anew: those that do not fit some code, and those that met a bug of another build, or of this one before
 * their object changed. Notes of runs that have ended go, and of those that another run has followed: Temporal's run IDs are in order of time (UUIDv7),
 * and the row of a run that continued as new may still name the one before.
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

function isSpacingOver(now: Date) {
  return sql<boolean>`(j.restarted_at is null or j.restarted_at <= ${new Date(now.getTime() - SPACING_MS)})`
}

/** Takes the restart of an open run (S3). @returns false: another worker has it, or the run has ended. */
export async function claimRestart(db: Kysely<Database>, workflowID: string, now: Date): Promise<boolean> {
  const { rows } = await sql`
    update job j set restarts = j.restarts + 1, restarted_at = ${now}
    where j.workflow_id = ${workflowID} and j.outcome is null and ${isSpacingOver(now)} returning 1`.execute(db)
  return rows.length > 0
}

/** The run does not fail any more, or has ended (S1). */
export async function forgetStuckRun(
  db: Kysely<Database>,
  { job, runID }: Pick<StuckRun, 'job' | 'runID'>,
): Promise<void> {
  await sql`delete from stuck_run where workflow_id = ${job.workflow_id} and run_id = ${runID}`.execute(db)
}

// Runs of former builds, as a migration has noted them: they are ended, and their jobs begun anew by workers of this build (migrations/0006).

/** Rows of these controllers that are open as the migration has found them. Notes of others that have closed, or were opened again since, go. */
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
