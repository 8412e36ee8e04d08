// Finds what no event will wake: subjects whose job has no run, idle ones with a trigger, and runs that may be lost.
// At start and every minute. Source: design.md "Journal", Sweep.
//
//   S1. The sweep only adds wakes; the pass they lead to looks at the object itself. So a needless one costs a look, a missing one a job.

import { type Kysely, type RawBuilder, sql } from 'kysely'
import type { Database } from '../database.ts'
import type { Job } from './jobs.ts'
import { type NewWake, upsertWakes } from './wakes.ts'

export interface SweptKind {
  readonly kind: string
  readonly controller: string
  /**
   * The run of an object's job: its own one, or the one of its owner and job (deploy groups; then only objects of these `spec.type`s,
   * because foreign types are not ours).
   */
  readonly run: 'own' | { readonly groupOfTypes: readonly string[] }
  /** Whether the annotations `operation=reconcile` and `reconcile-if-changed=true` start jobs on objects without an owner of the same kind. */
  readonly annotated: boolean
}

export interface SweepInput {
  readonly cluster: string
  readonly now: Date
  readonly jobKinds: readonly SweptKind[]
  /** The kinds that the bridge follows: until one was listed, a missing object of it says nothing. */
  readonly watchedKinds: readonly string[]
}

type Found = Pick<NewWake, 'uid' | 'job_id' | 'namespace' | 'name' | 'seq' | 'cause'>

/** Makes wakes of stranded subjects; returns how many. */
export async function sweepWakes(
  db: Kysely<Database>,
  { cluster, now, jobKinds, watchedKinds }: SweepInput,
): Promise<number> {
  const deletedRoot = deletedRootOf(watchedKinds)
  let count = 0
  for (const swept of jobKinds) {
    const { controller } = swept
    const stranded =
      swept.run === 'own' ? findOwn(cluster, swept, deletedRoot) : findGroups(cluster, swept, swept.run.groupOfTypes)
    const { rows } = await stranded.execute(db)
    if (swept.run !== 'own') rows.push(...(await findLeftItems(cluster, swept, deletedRoot).execute(db)).rows)
    const wakes = rows.map((found): NewWake => ({
      ...{ controller, cluster, due: now, foreign_event: true, may_start: true, writer: null },
      ...found,
    }))
    await upsertWakes(db, wakes, now)
    count += wakes.length
  }
  return count
}

const UNFINISHED = sql`coalesce(o.projection #>> '{status,jobID}', '') <> ''
  and o.projection #>> '{status,jobID}' is distinct from o.projection #>> '{status,jobIDFinished}'`

const ANNOTATED = sql`not coalesce(o.projection #> '{metadata,ownerReferences}', '[]')
    @> jsonb_build_array(jsonb_build_object('kind', o.kind))
  and (o.projection #>> '{metadata,annotations,landscaper.gardener.cloud/operation}' = 'reconcile'
    or o.projection #>> '{metadata,annotations,landscaper.gardener.cloud/reconcile-if-changed}' = 'true'
       and o.projection #>> '{metadata,generation}' is distinct from o.projection #>> '{status,observedGeneration}')`

// A child under deletion gets its job from its parent, unless the parent is gone (the same rule as `ownerState`).
const deletedRootOf = (
  watchedKinds: readonly string[],
) => sql`o.projection #>> '{metadata,deletionTimestamp}' is not null
  and not exists (select from object p where p.cluster = o.cluster and p.uid = o.owner_uid and not p.deleted)
  and (o.owner_uid is null
    or exists (select from object p where p.cluster = o.cluster and p.uid = o.owner_uid)
    or coalesce(o.projection #>> '{metadata,ownerReferences,0,kind}', '') <> all(${watchedKinds}::text[])
    or exists (select from watch_checkpoint c where c.cluster = o.cluster and c.resource_version is not null
               and c.kind = o.projection #>> '{metadata,ownerReferences,0,kind}'))`

function findOwn(
  cluster: string,
  { kind, controller, annotated }: SweptKind,
  deletedRoot: RawBuilder<unknown>,
): RawBuilder<Found> {
  const trigger = annotated ? sql`(${ANNOTATED}) or (${deletedRoot})` : deletedRoot
  return sql<Found>`
    select o.uid, '' as job_id, o.namespace, o.name, o.seq,
           case when ${UNFINISHED} then 'sweep: unfinished job without a run' else 'sweep: trigger without a run' end as cause
    from object o
    where o.cluster = ${cluster} and o.kind = ${kind} and not o.deleted and ((${UNFINISHED}) or ${trigger})
      and not exists (select from job j where j.controller = ${controller} and j.uid = o.uid and j.outcome is null)
      and not exists (select from wake w where w.controller = ${controller} and w.uid = o.uid)`
}

/** Members of groups that are being deleted and have no owner left: each is a subject of its own. */
function findLeftItems(
  cluster: string,
  { kind, controller }: SweptKind,
  deletedRoot: RawBuilder<unknown>,
): RawBuilder<Found> {
  return sql<Found>`
    select o.uid, '' as job_id, o.namespace, o.name, o.seq, 'sweep: trigger without a run' as cause
    from object o
    where o.cluster = ${cluster} and o.kind = ${kind} and not o.deleted and not (${UNFINISHED}) and ${deletedRoot}
      and o.projection #>> '{status,phase}' is distinct from 'DeleteFailed'
      and not exists (select from wake w where w.controller = ${controller} and w.uid = o.uid)`
}

function findGroups(cluster: string, { kind, controller }: SweptKind, types: readonly string[]): RawBuilder<Found> {
  return sql<Found>`
    select g.uid, g.job_id, g.namespace, max(g.name) as name, max(g.seq) as seq, 'sweep: unfinished job without a run' as cause
    from (select coalesce(o.owner_uid, o.uid) as uid, o.projection #>> '{status,jobID}' as job_id, o.namespace, o.seq,
                 coalesce(p.name, o.name) as name
          from object o left join object p on p.cluster = o.cluster and p.uid = o.owner_uid
          where o.cluster = ${cluster} and o.kind = ${kind} and not o.deleted and ${UNFINISHED}
            and o.projection #>> '{spec,type}' = any(${types}::text[])) g
    where not exists (select from job j
                      where j.controller = ${controller} and j.uid = g.uid and j.job_id = g.job_id and j.outcome is null)
      and not exists (select from wake w where w.controller = ${controller} and w.uid = g.uid and w.job_id = g.job_id)
    group by g.uid, g.job_id, g.namespace`
}

/**
 * The cluster's open jobs without a pass for a minute, to be looked up in Temporal; `controllers` undefined: of all. Each is due for its
 * next look-up after one minute, then two, up to ten; a pass starts that anew. Two sweepers get different jobs.
 */
export async function jobsToLookUp(
  db: Kysely<Database>,
  { cluster, controllers }: { readonly cluster: string; readonly controllers?: readonly string[] | undefined },
  now: Date,
): Promise<Job[]> {
  const quiet = db
    .selectFrom('job as j')
    .select('j.workflow_id')
    .where('j.cluster', '=', cluster)
    .$if(controllers !== undefined, (jobs) => jobs.where('j.controller', 'in', controllers ?? []))
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

/** A look-up that failed does not count. */
export async function lookUpAgain(db: Kysely<Database>, { workflow_id }: Job): Promise<void> {
  await db
    .updateTable('job')
    .set({ lookup_after: null, lookups: sql<number>`greatest(lookups - 1, 0)` })
    .where('workflow_id', '=', workflow_id)
    .execute()
}

/** Temporal does not run this job any more: closes its row as `lost` and wakes its subject, which starts it again if it is unfinished. */
export async function recordLostJob(db: Kysely<Database>, job: Job, now: Date): Promise<void> {
  await db.transaction().execute(async (trx) => {
    const { numUpdatedRows } = await trx
      .updateTable('job')
      .set({ outcome: 'lost', finished_at: now })
      .where('workflow_id', '=', job.workflow_id)
      .where('run_id', 'is not distinct from', job.run_id)
      .where('outcome', 'is', null)
      .executeTakeFirstOrThrow()
    if (numUpdatedRows === 0n) return
    const wake = {
      ...subjectOf(job),
      seq: 0,
      due: now,
      foreign_event: true,
      may_start: true,
      writer: null,
      cause: 'run lost',
    }
    await upsertWakes(trx, [wake], now)
  })
}

/**
 * Wakes the open run of a job when its subject, one of that one's children or an object that it waits for changed after its last pass began:
 * the wake of that change may be lost. A run's own last write leads to one needless pass, and that one to none.
 */
export async function wakeIfBehind(db: Kysely<Database>, job: Job, now: Date): Promise<boolean> {
  const { controller, uid, job_id, cluster, last_pass_at, started_at } = job
  const { rows } = await sql<{ seq: number }>`
    select o.seq from object o
    where o.cluster = ${cluster} and (o.uid = ${uid} or o.owner_uid = ${uid}) and o.updated_at > ${last_pass_at ?? started_at}
    union all
    select o.seq from subscription s
    join object o on o.cluster = s.cluster and o.kind = s.kind and s.namespace in (o.namespace, '*') and s.name in (o.name, '*')
    where s.controller = ${controller} and s.uid = ${uid} and s.job_id = ${job_id} and s.cluster = ${cluster}
      and o.updated_at > ${last_pass_at ?? started_at}
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

/** As wakes name it: deploy groups by their job, all others by their object. */
function subjectOf({ controller, uid, job_id, cluster, namespace, name }: Job) {
  return { controller, uid, job_id: controller === 'deploy' ? job_id : '', cluster, namespace, name }
}
