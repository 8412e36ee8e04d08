// Resync of the journal, at start and every minute: finds subjects with a job but no run, subjects with a trigger, and
// runs that may be lost. Source: docs/concepts/architecture.md "Journal".
//
//   S1. The resync only adds wakes; their passes observe the objects. A needless wake costs an observation, a missing
//       one a job.

import { type Kysely, type RawBuilder, sql } from 'kysely'
import {
  type Controller,
  type GroupKind,
  groupKindOf,
  partitionOf,
  type JobTrigger,
  requestedRunOf,
} from '../../../workflows/kit/index.ts'
import type { Database } from '../database.ts'
import { isChildRow, isInHandledPartition } from '../conditions.ts'
import { type JournaledObject, parentsOf, readSubjects, type SubjectState } from '../read/subjects.ts'
import type { Job } from './jobs.ts'
import { type Claim, type NewWake, upsertWakes } from './wakes.ts'

/** The properties of a job-mode controller that the resync needs. */
export type ResyncedController = Pick<
  Controller,
  'name' | 'target' | 'requestedRun' | 'triggers' | 'hostedBy' | 'partitions'
>

export interface ResyncInput {
  readonly cluster: string
  readonly now: Date
  readonly controllers: readonly ResyncedController[]
  /** The kind of each controller's subjects, also of controllers without resync. */
  readonly subjectKinds: Readonly<Record<string, GroupKind>>
  /** Kinds (`groupKindText`) that the bridge watches: until such a kind is listed, a missing object proves nothing. */
  readonly watchedKinds: readonly string[]
}

type SubjectWake = Pick<NewWake, 'uid' | 'job_id' | 'namespace' | 'name' | 'seq' | 'cause'>

/** Adds wakes for subjects without a run; returns their number. */
export async function resyncWakes(db: Kysely<Database>, input: ResyncInput): Promise<number> {
  const { cluster, now, controllers } = input
  let count = 0
  for (const swept of controllers) {
    const found = await subjectsWithoutRun(db, input, swept)
    const wakes = found.map((one): NewWake => ({
      controller: swept.name,
      cluster,
      due: now,
      foreign_event: true,
      may_start: true,
      writer: null,
      ...one,
    }))
    await upsertWakes(db, wakes, now)
    count += wakes.length
  }
  return count
}

const UNFINISHED = sql`coalesce(o.projection #>> '{status,jobID}', '') <> ''
  and o.projection #>> '{status,jobID}' is distinct from o.projection #>> '{status,jobIDFinished}'`
const DELETING = sql`o.projection #>> '{metadata,deletionTimestamp}' is not null`
const EDITED = sql`o.projection #>> '{metadata,generation}' is distinct from o.projection #>> '{status,observedGeneration}'`

function hasTrigger({ path: at, when, lacks }: JobTrigger): RawBuilder<unknown> {
  if (lacks !== undefined)
    return sql`not coalesce(o.projection #> ${[...at]}::text[], '[]') @> to_jsonb(${lacks}::text)`
  const found = sql`o.projection #> ${[...at]}::text[] is not null`
  return when === 'edited' ? sql`${found} and ${EDITED}` : found
}

/** Objects that may request a run; their controller decides. */
async function subjectsWithoutRun(
  db: Kysely<Database>,
  input: ResyncInput,
  swept: ResyncedController,
): Promise<SubjectWake[]> {
  const { name, target, triggers } = swept
  const { group, kind } = groupKindOf(target)
  const asks = [UNFINISHED, DELETING, ...triggers.map(hasTrigger)].map((condition) => sql`(${condition})`)
  const { rows } = await sql<Pick<JournaledObject, 'uid'>>`
    select o.uid from object o
    where o.cluster = ${input.cluster} and o.api_group = ${group} and o.kind = ${kind} and not o.deleted and (${sql.join(asks, sql` or `)})
      and not exists (select from job j where j.controller = ${name} and j.uid = o.uid and j.outcome is null)
      and not exists (select from wake w where w.controller = ${name} and w.uid = o.uid)
    order by o.uid`.execute(db)
  return await subjectWakes(db, input, swept, rows)
}

// Projections are read, so objects are processed in batches.
const BATCH = 500

async function subjectWakes(
  db: Kysely<Database>,
  { cluster, watchedKinds, subjectKinds }: ResyncInput,
  swept: ResyncedController,
  candidates: readonly Pick<JournaledObject, 'uid'>[],
): Promise<SubjectWake[]> {
  const found: SubjectWake[] = []
  const hosts = (swept.hostedBy ?? []).flatMap((host) => subjectKinds[host] ?? [])
  for (let from = 0; from < candidates.length; from += BATCH) {
    const ids = candidates.slice(from, from + BATCH).map(({ uid }) => ({ cluster, ...groupKindOf(swept.target), uid }))
    const states = await readSubjects(db, ids, watchedKinds)
    found.push(...states.flatMap((state) => (state === undefined ? [] : wakeOfSubject(state, swept, hosts))))
  }
  return found
}

function wakeOfSubject(
  state: SubjectState,
  { requestedRun: wantedRun, partitions: lanes }: ResyncedController,
  hosts: readonly GroupKind[],
): SubjectWake[] {
  const { object } = state
  const { owner, jobID: above } = parentsOf(state, hosts, partitionOf(lanes, object.projection))
  const wanted = requestedRunOf(wantedRun, object.projection, owner, above)
  if (wanted === undefined || 'none' in wanted) return []
  const { uid, namespace, name, seq } = object
  const cause = wanted.jobID === undefined ? 'sweep: trigger without a run' : 'sweep: unfinished job without a run'
  return [{ uid, job_id: '', namespace, name, seq, cause }]
}

/**
 * Open jobs of the cluster without a pass for a minute, to be checked in Temporal; limited to subjects whose wakes this
 * process claims. The next check of a job follows after one minute, then two, up to ten; a pass resets this. Two
 * processes get different jobs.
 */
export async function jobsToLookUp(
  db: Kysely<Database>,
  { cluster, controllers, unhandledPartitions = [] }: Pick<Claim, 'cluster' | 'controllers' | 'unhandledPartitions'>,
  now: Date,
): Promise<Job[]> {
  const quiet = db
    .selectFrom('job as j')
    .select('j.workflow_id')
    .where('j.cluster', '=', cluster)
    .$if(controllers !== undefined, (jobs) => jobs.where('j.controller', 'in', controllers ?? []))
    .$if(unhandledPartitions.length > 0, (jobs) => jobs.where(isInHandledPartition('j', unhandledPartitions)))
    .where('j.outcome', 'is', null)
    .where(sql<Date>`coalesce(j.last_pass_at, j.started_at)`, '<=', new Date(now.getTime() - LOOKUP_AFTER_MS))
    .where((where) => where.or([where('j.lookup_after', 'is', null), where('j.lookup_after', '<=', now)]))
    .forUpdate()
    .skipLocked()
  return await db
    .with('quiet', () => quiet)
    .updateTable('job')
    .from('quiet')
    .set({
      lookups: sql<number>`job.lookups + 1`,
      lookup_after: sql<Date>`${now}::timestamptz + least(${LONGEST_LOOKUP_MS}, ${LOOKUP_AFTER_MS} * 2 ^ job.lookups) * interval '1 ms'`,
    })
    .whereRef('job.workflow_id', '=', 'quiet.workflow_id')
    .returningAll('job')
    .execute()
}

const LOOKUP_AFTER_MS = 60_000
const LONGEST_LOOKUP_MS = 600_000

/** Repeats a failed check without counting it. */
export async function lookUpAgain(db: Kysely<Database>, { workflow_id }: Job): Promise<void> {
  await db
    .updateTable('job')
    .set({ lookup_after: null, lookups: sql<number>`greatest(lookups - 1, 0)` })
    .where('workflow_id', '=', workflow_id)
    .execute()
}

/**
 * Outcome of a row closed without its run: Temporal no longer knows the run, or it never began and its subject has
 * another job.
 */
type EndWithoutRun = 'lost' | 'Superseded'

/**
 * Closes the row of a job that Temporal no longer runs and wakes its subject, which starts an unfinished job again.
 *
 * @returns 'over' when the row is closed or belongs to another run.
 */
export async function recordLostJob(
  db: Kysely<Database>,
  job: Job,
  now: Date,
  { cause = 'run lost', outcome = 'lost' }: { readonly cause?: string; readonly outcome?: EndWithoutRun } = {},
): Promise<'closed' | 'over'> {
  return await db.transaction().execute(async (trx) => {
    const { numUpdatedRows } = await trx
      .updateTable('job')
      .set({ outcome, finished_at: now })
      .where('workflow_id', '=', job.workflow_id)
      .where('run_id', 'is not distinct from', job.run_id)
      .where('outcome', 'is', null)
      .executeTakeFirstOrThrow()
    if (numUpdatedRows === 0n) return 'over'
    const wake = {
      ...subjectOf(job),
      seq: 0,
      due: now,
      foreign_event: true,
      may_start: true,
      writer: null,
      cause,
    }
    await upsertWakes(trx, [wake], now)
    return 'closed'
  })
}

// Earlier index keys are unknown here, so any change may concern a subscription with index keys. The delay avoids a
// wake every minute in a busy namespace.
const SELECTOR_DELAY_MS = 600_000

/**
 * Wakes the open run of a job if its subject, a child of it or an awaited object changed after the last pass began,
 * because the wake of that change may be lost. A run's own last write causes one needless pass, which causes no other.
 */
export async function wakeIfBehind(db: Kysely<Database>, job: Job, now: Date): Promise<boolean> {
  const { controller, uid, job_id, cluster, last_pass_at, started_at } = job
  const last = last_pass_at ?? started_at
  const { rows } = await sql<{ seq: number }>`
    with subject as (select * from object where cluster = ${cluster} and uid = ${uid}),
      child as (select c.* from subject s join object c on ${isChildRow('c', 's')}),
      tree as (
        select seq, updated_at from subject union all select seq, updated_at from child
        union all select c.seq, c.updated_at from child s join object c on ${isChildRow('c', 's')})
    select o.seq from tree o where o.updated_at > ${last}
    union all
    select o.seq from subscription s
    join object o on o.cluster = s.cluster and o.api_group = s.api_group and o.kind = s.kind
      and s.namespace in (o.namespace, '*') and s.name in (o.name, '*')
    where s.controller = ${controller} and s.uid = ${uid} and s.job_id = ${job_id} and s.cluster = ${cluster}
      and o.updated_at > ${last} and (s.traits = '{}' or ${last} < ${new Date(now.getTime() - SELECTOR_DELAY_MS)})
    order by seq desc limit 1`.execute(db)
  const [changed] = rows
  if (changed === undefined) return false
  const cause = 'sweep: changes after the last pass'
  const wake = {
    ...subjectOf(job),
    seq: changed.seq,
    due: now,
    foreign_event: true,
    may_start: true,
    writer: null,
    cause,
  }
  await upsertWakes(db, [wake], now)
  return true
}

/** The subject's columns in a wake. */
function subjectOf({ controller, uid, cluster, namespace, name }: Job) {
  return { controller, uid, job_id: '', cluster, namespace, name }
}
