// Runs of controllers in level mode: their rows are keyed by object, not by job (job ID ''), and what they subscribe to outlives them.
//
//   V1. A run closes its own row, also one that is not there yet: a run may be over before whoever started it has written the row. It leaves
//       the row of a later run alone: run IDs are in order of time (jobs.ts).
//   V2. Subscriptions are exactly what the last pass looked at. Inserting happens before the pass reads, so that nothing falls in between.

import { type Kysely, sql } from 'kysely'
import type { GroupKind } from '../../../workflows/kit/index.ts'
import type { Database } from '../database.ts'
import type { NewJob } from './jobs.ts'
import { upsertWakes } from './wakes.ts'

/** Whose subscriptions: one controller's, for one object. */
export interface LevelSubject {
  readonly controller: string
  readonly cluster: string
  readonly uid: string
  readonly namespace: string
  readonly name: string
}

export interface Watching extends GroupKind {
  /** `*`: all. */
  readonly namespace: string
  /** `*`: any. */
  readonly name: string
}

/** Makes these the subscriptions of the subject (V2). @returns those that are new. */
export async function replaceSubscriptions(
  db: Kysely<Database>,
  { controller, cluster, uid }: LevelSubject,
  watching: readonly Watching[],
  now: Date,
): Promise<readonly Watching[]> {
  const { rows } = await sql<Watching>`
    with wanted as (
      select distinct "group" as api_group, kind, namespace, name from json_to_recordset(${JSON.stringify(watching)}::json) as r(
        "group" text, kind text, namespace text, name text)),
    dropped as (
      delete from subscription s where s.controller = ${controller} and s.uid = ${uid} and s.job_id = ''
        and not exists (select from wanted w where w.api_group = s.api_group and w.kind = s.kind and w.namespace = s.namespace and w.name = s.name))
    insert into subscription (controller, uid, job_id, cluster, api_group, kind, namespace, name, created_at)
    select ${controller}, ${uid}, '', ${cluster}, api_group, kind, namespace, name, ${now} from wanted
    order by api_group, kind, namespace, name
    on conflict do nothing returning api_group as "group", kind, namespace, name`.execute(db)
  return rows
}

/** Closes the row of a run that ends (V1). Its next due time is dropped; its subscriptions are too when its object is gone. */
export async function closeLevelRun(db: Kysely<Database>, job: NewJob, outcome: string, now: Date): Promise<void> {
  const { workflow_id, run_id, controller, cluster, uid, namespace, name, cause } = job
  await sql`
    with closed as (
      insert into job as j (workflow_id, run_id, controller, cluster, uid, job_id, namespace, name, cause, outcome, started_at,
                            finished_at)
      values (${workflow_id}, ${run_id}, ${controller}, ${cluster}, ${uid}, '', ${namespace}, ${name}, ${cause}, ${outcome},
              ${now}, ${now})
      on conflict (workflow_id) do update set run_id = excluded.run_id, outcome = excluded.outcome, attempt = 0, last_error = null,
        finished_at = excluded.finished_at
      where j.run_id is null or j.run_id <= excluded.run_id
      returning j.controller, j.uid),
    timers as (
      select w.controller, w.uid, w.job_id from wake w join closed c on w.controller = c.controller and w.uid = c.uid
      where w.writer = ${workflow_id} and w.seq = 0 and w.due > ${now} and w.lease_until is null for update of w skip locked),
    dropped as (
      delete from wake using timers where wake.controller = timers.controller and wake.uid = timers.uid
        and wake.job_id = timers.job_id)
    delete from subscription s using closed c
    where ${outcome === 'Deleted'} and s.controller = c.controller and s.uid = c.uid and s.job_id = ''`.execute(db)
}

/** Wakes every known object of a controller's kind: what the controller does may have changed since its runs ended. @returns how many. */
export async function wakeSubjects(
  db: Kysely<Database>,
  { cluster, controller, group, kind }: GroupKind & { readonly cluster: string; readonly controller: string },
  now: Date,
): Promise<number> {
  const objects = await db
    .selectFrom('object')
    .select(['uid', 'namespace', 'name', 'seq'])
    .where('cluster', '=', cluster)
    .where('api_group', '=', group)
    .where('kind', '=', kind)
    .where('deleted', '=', false)
    .execute()
  const rest = { controller, cluster, job_id: '', due: now, foreign_event: true, may_start: true, writer: null }
  await upsertWakes(
    db,
    objects.map((object) => ({ ...object, ...rest, cause: 'a worker started' })),
    now,
  )
  return objects.length
}
