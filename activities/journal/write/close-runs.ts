// Closes the job rows of runs.
//
//   C1. A row closes in the transaction that journals the run's own write that ended the job, or when the run ends. If
//       another writer ended the job, the run is woken, observes the end and closes the row itself.
//   C2. A run closes its own row, also if the row does not exist yet (a run may end before the process that started it
//       has stored the row), and never the row of a later run: run IDs are ordered by time (UUIDv7).
//   C3. The row of a job closes once: the outcome from an event stays. In level mode the row belongs to the object:
//       each run closes it again, also a run that was woken while it closed the row, and the last error is cleared.
//   C4. Subscriptions and timers of a run are deleted with its end; subscriptions in level mode only with their object.
//   C5. While a job had the row, all wakes for another job of the subject were delivered to this run. So the end of a
//       job wakes its subject unless the object is deleted. A run in level mode ends only when no wake is pending.

import { type Kysely, type RawBuilder, sql, type Transaction } from 'kysely'
import { type GroupKind, isSameGroupKind, type Mode } from '../../../workflows/kit/index.ts'
import type { Database } from '../database.ts'
import type { ObjectState } from './classify.ts'
import { type Job, type NewJob, shownEnd, type SubjectRules } from './jobs.ts'
import { upsertWakes } from './wakes.ts'

/** A run that ends. */
export type EndedRun = NewJob & {
  readonly run_id: string
  /** Mode of the run's controller. */
  readonly mode: Mode
  /** As in `JobProgress`. */
  readonly passes?: number | undefined
}

/** Closes the row of a run that ends (C2-C5). */
export async function closeRun(db: Kysely<Database>, run: EndedRun, outcome: string, now: Date): Promise<void> {
  if (run.mode !== 'job' || outcome === 'Deleted') {
    await closeRow(db, run, outcome, now)
    return
  }
  const { controller, cluster, uid, namespace, name } = run
  const wake = { controller, uid, job_id: '', cluster, namespace, name, cause: `run ended: ${outcome}` }
  await db.transaction().execute(async (trx) => {
    // The same lock order as in journalEvents: first the wake, then the row.
    await upsertWakes(trx, [{ ...wake, seq: 0, due: now, foreign_event: true, may_start: true, writer: null }], now)
    await closeRow(trx, run, outcome, now)
  })
}

/** Passes counted for a previous run do not belong to this run. */
const PASSES = sql`passes = case when j.run_id = excluded.run_id then greatest(j.passes, excluded.passes) else excluded.passes end`

async function closeRow(db: Kysely<Database>, run: EndedRun, outcome: string, now: Date): Promise<void> {
  const { workflow_id, run_id, controller, cluster, uid, job_id, namespace, name, cause, started_at, passes = 0 } = run
  const isOfObject = run.mode === 'level'
  await sql`
    with closed as (
      insert into job as j (workflow_id, run_id, controller, cluster, uid, job_id, namespace, name, cause, outcome, started_at,
                            finished_at, passes)
      values (${workflow_id}, ${run_id}, ${controller}, ${cluster}, ${uid}, ${job_id}, ${namespace}, ${name}, ${cause}, ${outcome},
              ${started_at}, ${now}, ${passes})
      on conflict (workflow_id) do update set run_id = excluded.run_id, outcome = excluded.outcome, finished_at = excluded.finished_at
        ${isOfObject ? sql`, attempt = 0, last_error = null, ${PASSES}` : sql``}
      where (j.run_id is null or j.run_id <= excluded.run_id) and (${isOfObject} or j.outcome is null)
      returning j.workflow_id, j.controller, j.uid, j.job_id)
    ${dropTimersAndSubscriptions(now, { unsubscribes: !isOfObject || outcome === 'Deleted' })}`.execute(db)
}

/**
 * Deletes timers and subscriptions of the closed runs; a restarted run creates them again. A wake with another cause
 * stays, and so does a leased wake: its pass has nothing to do.
 */
function dropTimersAndSubscriptions(
  now: Date,
  { unsubscribes = true, answer = sql`from closed` } = {},
): RawBuilder<unknown> {
  return sql`,
    timers as (
      select w.controller, w.uid, w.job_id from wake w join closed on w.controller = closed.controller and w.uid = closed.uid
      where w.writer = closed.workflow_id and w.seq = 0 and w.due > ${now} and w.lease_until is null
      for update of w skip locked),
    dropped as (
      delete from wake using timers where wake.controller = timers.controller and wake.uid = timers.uid and wake.job_id = timers.job_id),
    waits as (
      delete from subscription s using closed
      where ${unsubscribes} and s.controller = closed.controller and s.uid = closed.uid and s.job_id = closed.job_id)
    select ${answer}`
}

/** The end of a job that an object's state shows. */
export interface EndedJob {
  readonly controller: string
  readonly uid: string
  /** The object is deleted: all its jobs have ended. */
  readonly deleted: boolean
  readonly jobID: string | null
  readonly outcome: string
  /** Workflow ID of the run that wrote it; null: another writer. */
  readonly writer: string | null
}

/**
 * The jobs whose end these states show. Runs in level mode end by themselves: a run whose object is deleted is woken
 * and observes this.
 */
export function endedJobs(
  news: readonly { readonly state: ObjectState; readonly writer: string | undefined }[],
  { subjectKinds, modes }: SubjectRules,
): EndedJob[] {
  const ofJobs = Object.keys(modes).filter((name) => modes[name] === 'job')
  return news.flatMap(({ state, writer = null }) => {
    const { uid, deleted } = state
    const end = shownEnd(state)
    if (end === undefined) return []
    const { jobID = null, outcome } = end
    const controllers = ofJobs.filter((name) => isKindOf(subjectKinds[name], state))
    return controllers.map((controller) => ({ controller, uid, deleted, jobID, outcome, writer }))
  })
}

function isKindOf(kind: GroupKind | undefined, state: GroupKind): boolean {
  return kind !== undefined && isSameGroupKind(kind, state)
}

/** Closes the open rows of these jobs if the run itself ended the job; if another writer did, wakes the run (C1). */
export async function closeEndedJobs(
  trx: Transaction<Database>,
  cluster: string,
  ended: readonly EndedJob[],
  now: Date,
): Promise<void> {
  if (ended.length === 0) return
  const { rows } = await sql<Pick<Job, 'controller' | 'uid' | 'namespace' | 'name'>>`
    with over as (
      select job.workflow_id, job.controller, job.uid, job.namespace, job.name, e.outcome, job.workflow_id = e.writer as own
      from json_to_recordset(${JSON.stringify(ended)}::json) as e(controller text, uid text, deleted boolean, "jobID" text, outcome text,
                                                                  writer text)
      join job on job.controller = e.controller and job.uid = e.uid
      where job.uid = any(${[...new Set(ended.map(({ uid }) => uid))]}::text[]) and job.outcome is null
        and job.cluster = ${cluster} and job.job_id <> '' and (e.deleted or job.job_id = e."jobID")),
    closed as (
      update job set outcome = over.outcome, finished_at = ${now} from over
      where job.workflow_id = over.workflow_id and over.own and job.outcome is null
      returning job.workflow_id, job.controller, job.uid, job.job_id)
    ${dropTimersAndSubscriptions(now, { answer: sql`distinct controller, uid, namespace, name from over where not coalesce(own, false)` })}`.execute(
    trx,
  )
  const rest = { job_id: '', cluster, seq: 0, due: now, foreign_event: true, may_start: false, writer: null }
  await upsertWakes(
    trx,
    rows.map((subject) => ({ ...subject, ...rest, cause: 'the run of its job was ended from outside' })),
    now,
  )
}

/** Deletes the subscriptions of level runs whose objects are deleted. */
export async function endSubscriptionsOf(
  trx: Transaction<Database>,
  cluster: string,
  gone: readonly string[],
): Promise<void> {
  if (gone.length === 0) return
  await sql`delete from subscription where cluster = ${cluster} and uid = any(${gone}::text[]) and job_id = ''`.execute(
    trx,
  )
}
