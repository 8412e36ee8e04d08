// Runs, as people and the sweep see them. The row is written after `start` succeeded.
//
//   J1. A row closes in the transaction that journals the end of its job, or when its run ends; never twice.
//   J2. Opening a row looks, under the subject's row lock, whether the job has already ended: a short job may be over before its row is there.

import { type Kysely, type Selectable, sql, type Transaction } from 'kysely'
import { path, type Projection, textAt } from '../../workflows/kit/index.ts'
import type { Database, Json, JobTable } from './database.ts'
import type { Known } from './classify.ts'

export type Job = Selectable<JobTable>

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
}

const PHASE = path('status.phase')
const JOB_ID_FINISHED = path('status.jobIDFinished')

/**
 * Records that a run is open; another run of the same workflow ID reopens the row. With run_id null the run was found running, not started:
 * what the row of an open or finished job says stays, because whoever started it knows better.
 */
export async function openJob(db: Kysely<Database>, job: NewJob): Promise<void> {
  await db.transaction().execute(async (trx) => {
    const subject = await trx
      .selectFrom('object')
      .select(['kind', 'projection', 'deleted'])
      .where('cluster', '=', job.cluster)
      .where('uid', '=', job.uid)
      .forShare()
      .executeTakeFirst()
    const ended =
      subject !== undefined && controllerOf(subject.kind) === job.controller ? endOf(subject, job.job_id) : undefined
    const fresh = {
      ...job,
      ...(ended === undefined ? { outcome: null, finished_at: null } : { outcome: ended, finished_at: job.started_at }),
      ...{ phase: null, phases: '[]', last_error: null, attempt: 0, passes: 0, last_pass_at: null },
      ...{ lookup_after: null, lookups: 0 },
    }
    const known = await trx
      .selectFrom('job')
      .select(['run_id', 'outcome'])
      .where('workflow_id', '=', job.workflow_id)
      .forUpdate()
      .executeTakeFirst()
    const change = known === undefined ? fresh : news(job, known, ended === undefined, fresh)
    if (change === undefined) return
    await trx
      .insertInto('job')
      .values(fresh)
      .onConflict((conflict) => conflict.column('workflow_id').doUpdateSet(change))
      .execute()
  })
}

/** What an opening changes of the row that is there; undefined for nothing. */
function news<Fresh>(
  { run_id, cause, started_at }: NewJob,
  known: Pick<Job, 'run_id' | 'outcome'>,
  isUnfinished: boolean,
  fresh: Fresh,
): Fresh | Pick<NewJob, 'run_id' | 'cause' | 'started_at'> | undefined {
  if (known.run_id === run_id) return undefined
  if (run_id === null) return known.outcome !== null && isUnfinished ? fresh : undefined
  return known.run_id === null && known.outcome === null ? { run_id, cause, started_at } : fresh
}

/** The open run of a subject; with `jobID` the one of that job. */
export async function findOpenJob(
  db: Kysely<Database>,
  controller: string,
  uid: string,
  jobID?: string,
): Promise<Job | undefined> {
  const open = db
    .selectFrom('job')
    .selectAll()
    .where('controller', '=', controller)
    .where('uid', '=', uid)
    .where('outcome', 'is', null)
    .orderBy('started_at', 'desc')
  return await (jobID === undefined ? open : open.where('job_id', '=', jobID)).executeTakeFirst()
}

/** Closes the row if it is open; a row that an event closed keeps its outcome (J1). */
export async function closeJob(db: Kysely<Database>, workflowID: string, outcome: string, now: Date): Promise<void> {
  await sql`
    with closed as (update job set outcome = ${outcome}, finished_at = ${now}
                    where workflow_id = ${workflowID} and outcome is null returning controller, uid, job_id)
    ${END_WAITS}`.execute(db)
}

/** What the closed jobs waited for: a run that is started again asks anew. */
const END_WAITS = sql`delete from subscription s using closed
  where s.controller = closed.controller and s.uid = closed.uid and s.job_id = closed.job_id`

/** Counts a pass of each run; those that have no row yet are left out. */
export async function touchJobs(db: Kysely<Database>, workflowIDs: readonly string[], now: Date): Promise<void> {
  await sql`
    update job set passes = job.passes + t.passes, last_pass_at = ${now}, lookup_after = null, lookups = 0
    from (select id, count(*)::int as passes from unnest(${workflowIDs}::text[]) w(id) group by id order by id) t
    where job.workflow_id = any(${workflowIDs}::text[]) and job.workflow_id = t.id`.execute(db)
}

export interface JobProgress {
  readonly workflowID: string
  /** Undefined: the phase stays. */
  readonly phase: string | undefined
  /** Undefined: the last one stays while the job is failing, and is cleared by a pass that did not fail. */
  readonly lastError: object | undefined
  readonly attempt: number
}

/** Records what a pass settled; a phase that is new is appended to the row's list with its time. */
export async function recordJobPhase(
  db: Kysely<Database>,
  { workflowID, phase, lastError, attempt }: JobProgress,
  now: Date,
): Promise<void> {
  const told = lastError === undefined ? null : JSON.stringify(lastError)
  const entry = phase === undefined ? [] : [{ phase, at: now.toISOString() }]
  await sql`
    update job set phase = coalesce(${phase ?? null}, phase), attempt = ${attempt},
      last_error = case when ${attempt}::int > 0 then coalesce(${told}::jsonb, last_error) else ${told}::jsonb end,
      phases = case when ${phase ?? null}::text is null or phase is not distinct from ${phase ?? null}::text
                    then phases else phases || ${JSON.stringify(entry)}::jsonb end
    where workflow_id = ${workflowID}`.execute(db)
}

/** The end of a job, as the state of its subject shows it. */
export interface EndedJob {
  readonly controller: string
  readonly uid: string
  /** The object is gone: every job of it has ended. */
  readonly deleted: boolean
  readonly jobID: string | null
  readonly outcome: string
}

/** The jobs whose end these states show. Level runs (job ID '') end by themselves, unless the object is gone. */
export function endedJobs(states: readonly Known[]): EndedJob[] {
  return states.flatMap(({ kind, uid, deleted, projection }) => {
    const jobID = textAt(projection, JOB_ID_FINISHED)
    if (!deleted && jobID === undefined) return []
    const outcome = deleted ? 'Deleted' : (textAt(projection, PHASE) ?? 'Succeeded')
    return [{ controller: controllerOf(kind), uid, deleted, jobID: jobID ?? null, outcome }]
  })
}

/** Closes the rows of these jobs that are open (J1). */
export async function closeEndedJobs(
  trx: Transaction<Database>,
  cluster: string,
  ended: readonly EndedJob[],
  now: Date,
): Promise<void> {
  if (ended.length === 0) return
  await sql`
    with closed as (
      update job set outcome = e.outcome, finished_at = ${now}
      from json_to_recordset(${JSON.stringify(ended)}::json) as e(controller text, uid text, deleted boolean, "jobID" text, outcome text)
      where job.uid = any(${[...new Set(ended.map(({ uid }) => uid))]}::text[]) and job.outcome is null
        and job.cluster = ${cluster} and job.controller = e.controller and job.uid = e.uid
        and (e.deleted or job.job_id = e."jobID") returning job.controller, job.uid, job.job_id)
    ${END_WAITS}`.execute(trx)
}

/** The controller whose subjects a kind's objects are: `DeployItem` is reconciled by `deploy-item`. */
function controllerOf(kind: string): string {
  return kind.replaceAll(/(?<=[a-z0-9])(?=[A-Z])/g, '-').toLowerCase()
}

function endOf({ deleted, projection }: { deleted: boolean; projection: Json }, jobID: string): string | undefined {
  if (deleted) return 'Deleted'
  const state: Projection = projection
  return jobID !== '' && textAt(state, JOB_ID_FINISHED) === jobID ? (textAt(state, PHASE) ?? 'Succeeded') : undefined
}
