// Runs, as people and the sweep see them. The row of a job is written before its run is started, so that the run's writes are known as its own.
//
//   J1. Opening a row looks, under the subject's row lock, whether the job has already ended: a short job may be over before its row is there.
//
// How rows close: close-runs.ts.

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

/** What the journal has to know of controllers, by their names: which objects are their subjects, and whether these say how a job ended. */
export interface SubjectRules {
  readonly subjectKinds: Readonly<Record<string, GroupKind>>
  readonly modes: Readonly<Record<string, Mode>>
  /** Of the controllers that have some. */
  readonly lanes?: Readonly<Record<string, Partitions>>
  /** Of the controllers whose subjects may be hosted: the controllers whose runs host them. Absent: any may. */
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
  /** As in the run's input; absent and null: all. */
  readonly serves?: readonly string[] | null
}

/**
 * Opens the rows of runs that are about to be started, in one statement; a row that is there stays as it is. That the job has ended is looked for
 * (J1), unlocked: nobody can end it before its run has begun.
 *
 * @returns for each whether it has an open row now that was not there before. It learns which run it is when that looks (`touchJobs`).
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
 * Records that runs are open; another run of the same workflow ID reopens the row. With run_id null the run was found running, not started:
 * what the row of an open or finished job says stays, because whoever started it knows better.
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
  // Runs in level mode end by themselves.
  if (rules.modes[controller] !== 'job') return undefined
  const kind = rules.subjectKinds[controller]
  const subject = subjects.find((one) => one.uid === uid && one.api_group === kind?.group && one.kind === kind.kind)
  const end = subject && shownEnd(subject)
  return subject?.deleted === true || (job_id !== '' && end?.jobID === job_id) ? end?.outcome : undefined
}

/** The end of a job that the state of its subject shows; of every job when the object is gone. Undefined when it shows none. */
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
  // The phase may be the next job's already.
  const phase = textAt(projection, JOB_ID) === jobID ? textAt(projection, PHASE) : undefined
  return { jobID, outcome: phase ?? 'Finished' }
}

/** The row after an opening; undefined when it stays as it is. */
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
    // Not written here: they count over all runs of the row.
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

/** What an opening changes of the row that is there; undefined for nothing. */
function changeByOpening<Fresh>(
  job: NewJob,
  known: Pick<Job, 'run_id' | 'outcome' | 'cause'>,
  isUnfinished: boolean,
  fresh: Fresh,
): Fresh | Pick<Job, 'run_id' | 'cause' | 'started_at' | 'serves'> | undefined {
  const { run_id, cause, started_at } = job
  if (run_id === null) return known.outcome !== null && isUnfinished ? fresh : undefined
  // Opened before it was started, or found running; its first pass may have said since which run it is.
  if (known.run_id === null && known.outcome === null)
    return { run_id, cause, started_at, serves: partitionsOfRun(job) }
  const isSame = known.run_id === run_id
  if (!isSame) return fresh
  return known.outcome === null && known.cause !== cause
    ? { run_id, cause, started_at, serves: partitionsOfRun(job) }
    : undefined
}

/** Whose run is looked for. */
export interface JobSubject {
  readonly controller: string
  readonly uid: string
}

/** The open runs of these subjects, in their order. */
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
 * @param passes by workflow ID, how many passes of its run are known of.
 * @returns those whose runs have begun another one, or have ended.
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

/** Whether the journal has a row of this run, open or not. */
export async function hasJobRow(db: Kysely<Database>, workflowID: string): Promise<boolean> {
  const row = await db.selectFrom('job').select('uid').where('workflow_id', '=', workflowID).executeTakeFirst()
  return row !== undefined
}

/** What the run of this ID serves, or served; null: all. Undefined: it has no row. */
export async function handledPartitionsOf(
  db: Kysely<Database>,
  workflowID: string,
): Promise<readonly string[] | null | undefined> {
  const row = await db.selectFrom('job').select('serves').where('workflow_id', '=', workflowID).executeTakeFirst()
  return row?.serves
}

/** A run as Temporal names it. */
export interface RunID {
  readonly workflowID: string
  readonly runID: string
}

/** A run whose pass looks. */
export interface RunPass extends RunID {
  /** As its input says; absent and null: all. */
  readonly serves?: readonly string[] | null
}

/** The open row of a job tells of the run. */
const IS_OPEN_JOB = sql`job.outcome is null and job.job_id <> ''`

/**
 * Counts a pass of each run; those that have no row yet are left out. An open row learns which run it is: whoever found it running did not
 * know, nor what it serves, and one that continued as new is another. By that its late writes are known (actions.ts, A3). Temporal's run IDs are in order of time
 * (UUIDv7): an activity that outlived its run does not take the row from the next one.
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
  /** Undefined: the phase stays. */
  readonly phase: string | undefined
  /** Undefined: the last one stays while the job is failing, and is cleared by a pass that did not fail. */
  readonly lastError: object | undefined
  readonly attempt: number
  /**
   * How many passes the run has made, where its first one may have looked before the row was there (level mode: whoever starts the run writes the
   * row after that); undefined: `touchJobs` has counted all.
   */
  readonly passes?: number | undefined
}

/**
 * Records what a pass settled; a phase that is new is appended to the row's list with its time.
 *
 * @returns 'over' when the run's row is closed: this is the late pass of a worker that was stopped, or lost its workflow task. Never in level
 *   mode: a run that is woken while it closes its row goes on.
 */
export async function recordJobPhase(
  db: Kysely<Database>,
  { workflowID, runID, phase, lastError, attempt, passes = 0 }: JobProgress,
  now: Date,
): Promise<'open' | 'over'> {
  const told = lastError === undefined ? null : JSON.stringify(lastError)
  const entry = phase === undefined ? [] : [{ phase, at: now.toISOString() }]
  const { rows } = await sql<{ over: boolean | null }>`
    update job set phase = coalesce(${phase ?? null}, phase), attempt = ${attempt}, passes = greatest(passes, ${passes}::int),
      last_error = case when ${attempt}::int > 0 then coalesce(${told}::jsonb, last_error) else ${told}::jsonb end,
      phases = case when ${phase ?? null}::text is null or phase is not distinct from ${phase ?? null}::text
                    then phases else phases || ${JSON.stringify(entry)}::jsonb end
    where workflow_id = ${workflowID}
    returning outcome is not null and run_id = ${runID} and job_id <> '' as over`.execute(db)
  return rows[0]?.over === true ? 'over' : 'open'
}
