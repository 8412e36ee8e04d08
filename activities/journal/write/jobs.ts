// Job rows of runs. A row is stored before its run is started, so that the run's writes are recognized as its own.
//
//   J1. Opening a row checks, under the subject's row lock, whether the job has already ended: a short job may end
//       before its row exists.
//
// close-runs.ts closes rows.

import { type Kysely, type Selectable, sql, type Transaction } from 'kysely'
import {
  type GroupKind,
  type Partitions,
  type Mode,
  path,
  type Projection,
  textAt,
} from '../../../workflows/kit/index.ts'
import type { Database, JobTable } from '../database.ts'

export type Job = Selectable<JobTable>

/**
 * Rules of controllers, by their names: the kind of their subjects, and whether the subjects' status shows the end of a
 * job.
 */
export interface SubjectRules {
  readonly subjectKinds: Readonly<Record<string, GroupKind>>
  readonly modes: Readonly<Record<string, Mode>>
  /** The partitions of controllers that have partitions. */
  readonly lanes?: Readonly<Record<string, Partitions>>
  /** By controller of a hosted subject: the controllers whose runs may host it. Absent: runs of every controller may. */
  readonly hosts?: Readonly<Record<string, readonly string[]>>
}

export interface NewJob {
  readonly workflow_id: string
  readonly run_id: string | null
  readonly controller: string
  readonly cluster: string
  readonly uid: string
  readonly job_id: string
  readonly namespace: string
  readonly name: string
  readonly cause: string
  readonly started_at: Date
  /** Partitions from the run's input; absent and null: all. */
  readonly serves?: readonly string[] | null
}

/**
 * Opens the rows of runs before they are started, in one statement; existing rows stay unchanged. The check for an
 * ended job (J1) takes no lock: no job can end before its run begins.
 *
 * @returns for each run whether its row is new and open. The run's ID is added by its first pass (`countPasses`).
 */
export async function announceJobs(
  db: Kysely<Database>,
  { subjects: { subjectKinds, modes } }: { readonly subjects: SubjectRules },
  jobs: readonly Omit<NewJob, 'run_id'>[],
): Promise<readonly boolean[]> {
  const rows = jobs.map((job) => ({
    ...job,
    ...subjectKinds[job.controller],
    ends: modes[job.controller] === 'job',
  }))
  const { rows: rowAfterOpening } = await sql<{ workflow_id: string }>`
    insert into job (workflow_id, controller, cluster, uid, job_id, namespace, name, cause, phases, attempt, passes, lookups, started_at,
                     serves, outcome, finished_at)
    select r.workflow_id, r.controller, r.cluster, r.uid, r.job_id, r.namespace, r.name, r.cause, '[]', 0, 0, 0, r.started_at,
           r.serves, e.outcome, case when e.outcome is not null then r.started_at end
    from (select distinct on (workflow_id) * from json_to_recordset(${JSON.stringify(rows)}::json) as r(
      workflow_id text, controller text, cluster text, "group" text, kind text, uid text, job_id text, namespace text, name text, cause text,
      started_at timestamptz, serves text[], ends boolean) order by workflow_id) r
    left join lateral (
      select case when o.deleted then 'Deleted'
                  when r.job_id <> '' and o.projection #>> '{status,jobIDFinished}' = r.job_id
                  then coalesce(case when o.projection #>> '{status,jobID}' = r.job_id then o.projection #>> '{status,phase}' end, 'Finished')
             end as outcome
      from object o where r.ends and o.cluster = r.cluster and o.api_group = r."group" and o.kind = r.kind and o.uid = r.uid) e on true
    on conflict (workflow_id) do nothing
    returning case when outcome is null then workflow_id end as workflow_id`.execute(db)
  const fresh = new Set(rowAfterOpening.map(({ workflow_id }) => workflow_id))
  return jobs.map(({ workflow_id }) => fresh.has(workflow_id))
}

const PHASE = path('status.phase')
const JOB_ID = path('status.jobID')
const JOB_ID_FINISHED = path('status.jobIDFinished')

/**
 * Stores that runs are open; another run with the same workflow ID reopens the row. With run_id null the run was found
 * running: an existing row stays unchanged, because the process that started the run knows more.
 */
export async function openJobs(
  db: Kysely<Database>,
  { cluster, subjects: known }: { readonly cluster: string; readonly subjects: SubjectRules },
  jobs: readonly NewJob[],
): Promise<void> {
  await db.transaction().execute(async (trx) => {
    const uids = [...new Set(jobs.map(({ uid }) => uid))]
    const ids = [...new Set(jobs.map(({ workflow_id }) => workflow_id))]
    const subjects = await trx
      .selectFrom('object')
      .select(['uid', 'api_group', 'kind', 'projection', 'deleted'])
      .where('cluster', '=', cluster)
      .where('uid', '=', sql<string>`any(${uids}::text[])`)
      .orderBy('uid')
      .forShare()
      .execute()
    const rows = await trx
      .selectFrom('job')
      .selectAll()
      .where('workflow_id', '=', sql<string>`any(${ids}::text[])`)
      .orderBy('workflow_id')
      .forUpdate()
      .execute()
    const before = new Map(rows.map((row) => [row.workflow_id, row]))
    const changed = new Map<string, Job>()
    for (const job of jobs) {
      const row = opened(
        job,
        changed.get(job.workflow_id) ?? before.get(job.workflow_id),
        endOfSubject(job, subjects, known),
      )
      if (row !== undefined) changed.set(job.workflow_id, row)
    }
    await upsertJobs(trx, [...changed.values()])
  })
}

type Subject = Pick<JournaledState, 'uid' | 'api_group' | 'kind' | 'projection' | 'deleted'>
type JournaledState = Selectable<Database['object']>

function endOfSubject(
  { controller, uid, job_id }: NewJob,
  subjects: readonly Subject[],
  rules: SubjectRules,
): string | undefined {
  // Runs in level mode close their rows themselves.
  if (rules.modes[controller] !== 'job') return undefined
  const kind = rules.subjectKinds[controller]
  const subject = subjects.find((one) => one.uid === uid && one.api_group === kind?.group && one.kind === kind.kind)
  const end = subject && shownEnd(subject)
  return subject?.deleted === true || (job_id !== '' && end?.jobID === job_id) ? end?.outcome : undefined
}

/**
 * The end of a job that its subject's state shows; of every job when the object is deleted. Undefined if it shows none.
 */
export function shownEnd({
  deleted,
  projection,
}: {
  readonly deleted: boolean
  readonly projection: Projection
}): { readonly jobID: string | undefined; readonly outcome: string } | undefined {
  const jobID = textAt(projection, JOB_ID_FINISHED)
  if (deleted) return { jobID, outcome: 'Deleted' }
  if (jobID === undefined) return undefined
  // The phase may already belong to the next job.
  const phase = textAt(projection, JOB_ID) === jobID ? textAt(projection, PHASE) : undefined
  return { jobID, outcome: phase ?? 'Finished' }
}

/** The row after opening; undefined if it stays unchanged. */
function opened(job: NewJob, known: Job | undefined, ended: string | undefined): Job | undefined {
  const fresh: Job = {
    ...job,
    ...(ended === undefined ? { outcome: null, finished_at: null } : { outcome: ended, finished_at: job.started_at }),
    phase: null,
    phases: [],
    last_error: null,
    attempt: 0,
    passes: 0,
    last_pass_at: null,
    lookup_after: null,
    lookups: 0,
    serves: partitionsOfRun(job),
    // Unchanged: both count over all runs of the row.
    restarts: known?.restarts ?? 0,
    restarted_at: known?.restarted_at ?? null,
  }
  if (known === undefined) return fresh
  const change = changeByOpening(job, known, ended === undefined, fresh)
  return change === undefined ? undefined : { ...known, ...change }
}

function partitionsOfRun({ serves }: Pick<NewJob, 'serves'>): string[] | null {
  return serves === undefined || serves === null ? null : [...serves]
}

async function upsertJobs(trx: Transaction<Database>, rows: readonly Job[]): Promise<void> {
  if (rows.length === 0) return
  await sql`
    insert into job (workflow_id, run_id, controller, cluster, uid, job_id, namespace, name, cause, phase, phases, outcome,
                     attempt, last_error, passes, last_pass_at, started_at, finished_at, lookup_after, lookups, serves)
    select r.* from json_to_recordset(${JSON.stringify(rows)}::json) as r(
      workflow_id text, run_id text, controller text, cluster text, uid text, job_id text, namespace text, name text,
      cause text, phase text, phases jsonb, outcome text, attempt integer, last_error jsonb, passes integer,
      last_pass_at timestamptz, started_at timestamptz, finished_at timestamptz, lookup_after timestamptz, lookups integer, serves text[])
    order by r.workflow_id
    on conflict (workflow_id) do update set
      (run_id, cause, phase, phases, outcome, attempt, last_error, passes, last_pass_at, started_at, finished_at, lookup_after,
       lookups, serves) =
      (excluded.run_id, excluded.cause, excluded.phase, excluded.phases, excluded.outcome, excluded.attempt,
       excluded.last_error, excluded.passes, excluded.last_pass_at, excluded.started_at, excluded.finished_at,
       excluded.lookup_after, excluded.lookups, excluded.serves)
    -- The run may have closed its row since it was looked for (close-runs.ts, C2). No run says of itself that it is lost.
    where job.outcome is null or job.outcome = 'lost' or excluded.outcome is not null or job.run_id is distinct from excluded.run_id`.execute(
    trx,
  )
}

/** The change of an existing row; undefined for none. */
function changeByOpening<Fresh>(
  job: NewJob,
  known: Pick<Job, 'run_id' | 'outcome' | 'cause'>,
  isUnfinished: boolean,
  fresh: Fresh,
): Fresh | Pick<Job, 'run_id' | 'cause' | 'started_at' | 'serves'> | undefined {
  const { run_id, cause, started_at } = job
  if (run_id === null) return known.outcome !== null && isUnfinished ? fresh : undefined
  // The row was opened before the start, or the run was found running; its first pass may have added its run ID.
  if (known.run_id === null && known.outcome === null)
    return { run_id, cause, started_at, serves: partitionsOfRun(job) }
  const isSame = known.run_id === run_id
  if (!isSame) return fresh
  return known.outcome === null && known.cause !== cause
    ? { run_id, cause, started_at, serves: partitionsOfRun(job) }
    : undefined
}

/** Subject whose run is searched. */
export interface JobSubject {
  readonly controller: string
  readonly uid: string
}

/** The open runs of these subjects, in order. */
export async function findOpenJobs(
  db: Kysely<Database>,
  subjects: readonly JobSubject[],
): Promise<readonly (Job | undefined)[]> {
  const rows = await db
    .selectFrom('job')
    .selectAll()
    .where('uid', '=', sql<string>`any(${[...new Set(subjects.map(({ uid }) => uid))]}::text[])`)
    .where('outcome', 'is', null)
    .orderBy('started_at', 'desc')
    .execute()
  return subjects.map(({ controller, uid }) => rows.find((row) => row.controller === controller && row.uid === uid))
}

/**
 * Finds jobs that have begun a further pass or have ended.
 *
 * @param passes known number of passes by workflow ID.
 * @returns their workflow IDs.
 */
export async function jobsWithNewPass(
  db: Kysely<Database>,
  passes: ReadonlyMap<string, number>,
): Promise<readonly string[]> {
  const known = sql<{
    readonly id: string
    readonly passes: number
  }>`unnest(${[...passes.keys()]}::text[], ${[...passes.values()]}::int[])`
  const rows = await db
    .selectFrom('job')
    .innerJoin(known.as<'known'>(sql`known(id, passes)`), 'known.id', 'job.workflow_id')
    .select('workflow_id')
    .where((where) => where.or([where('job.passes', '>', where.ref('known.passes')), where('outcome', 'is not', null)]))
    .execute()
  return rows.map(({ workflow_id }) => workflow_id)
}

/** Whether the journal has a row of this run, open or closed. */
export async function hasJobRow(db: Kysely<Database>, workflowID: string): Promise<boolean> {
  const row = await db.selectFrom('job').select('uid').where('workflow_id', '=', workflowID).executeTakeFirst()
  return row !== undefined
}

/** Partitions that the run handles or handled; null: all. Undefined: no row. */
export async function handledPartitionsOf(
  db: Kysely<Database>,
  workflowID: string,
): Promise<readonly string[] | null | undefined> {
  const row = await db.selectFrom('job').select('serves').where('workflow_id', '=', workflowID).executeTakeFirst()
  return row?.serves
}

/** Temporal's IDs of a run. */
export interface RunID {
  readonly workflowID: string
  readonly runID: string
}

/** The start of a run's pass. */
export interface RunPass extends RunID {
  /** Partitions from its input; absent and null: all. */
  readonly serves?: readonly string[] | null
}

/** The row is open and belongs to a job. */
const IS_OPEN_JOB = sql`job.outcome is null and job.job_id <> ''`

/**
 * Counts a pass of each run; runs without a row are left out. The pass also stores its run ID and partitions in an open
 * row, because a run that was found running or continued as new is not known by ID. Late writes are recognized by it
 * (actions.ts, A3). Run IDs are ordered by time (UUIDv7): an activity that outlived its run does not overwrite the next
 * run's ID.
 */
export async function countPasses(db: Kysely<Database>, runs: readonly RunPass[], now: Date): Promise<void> {
  await sql`
    update job set passes = job.passes + t.passes, last_pass_at = ${now}, lookup_after = null, lookups = 0,
      run_id = case when ${IS_OPEN_JOB} then greatest(job.run_id, t.run_id) else job.run_id end,
      serves = case when ${IS_OPEN_JOB} and (job.run_id is null or job.run_id <= t.run_id) then t.serves else job.serves end
    from (select distinct on (id) "workflowID" as id, "runID" as run_id, serves, count(*) over (partition by "workflowID")::int as passes
          from json_to_recordset(${JSON.stringify(runs)}::json) as r("workflowID" text, "runID" text, serves text[])
          order by id, run_id desc) t
    where job.workflow_id = any(${[...new Set(runs.map(({ workflowID }) => workflowID))]}::text[])
      and job.workflow_id = t.id`.execute(db)
}

export interface JobProgress {
  readonly workflowID: string
  readonly runID: string
  /** Undefined: the phase does not change. */
  readonly phase: string | undefined
  /** Undefined: the last error stays while the job is failing; a successful pass clears it. */
  readonly lastError: object | undefined
  readonly attempt: number
  /**
   * Number of passes, if the first pass may have begun before the row existed (level mode stores the row after the
   * start); undefined: `countPasses` has counted all.
   */
  readonly passes?: number | undefined
}

/**
 * Stores the result of a pass; a new phase is appended to the row's list with its time.
 *
 * @returns 'over' when the row of the run is closed: this is the late pass of a worker that was stopped or lost its
 * workflow task. Never in level mode, where a run that is woken while it closes its row continues.
 */
export async function recordJobPhase(
  db: Kysely<Database>,
  { workflowID, runID, phase, lastError, attempt, passes = 0 }: JobProgress,
  now: Date,
): Promise<'open' | 'over'> {
  const errorJson = lastError === undefined ? null : JSON.stringify(lastError)
  const entry = phase === undefined ? [] : [{ phase, at: now.toISOString() }]
  const { rows } = await sql<{ over: boolean | null }>`
    update job set phase = coalesce(${phase ?? null}, phase), attempt = ${attempt}, passes = greatest(passes, ${passes}::int),
      last_error = case when ${attempt}::int > 0 then coalesce(${errorJson}::jsonb, last_error) else ${errorJson}::jsonb end,
      phases = case when ${phase ?? null}::text is null or phase is not distinct from ${phase ?? null}::text
                    then phases else phases || ${JSON.stringify(entry)}::jsonb end
    where workflow_id = ${workflowID}
    returning outcome is not null and run_id = ${runID} and job_id <> '' as over`.execute(db)
  return rows[0]?.over === true ? 'over' : 'open'
}
