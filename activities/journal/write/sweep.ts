// Finds what no event will wake: subjects whose job has no run, idle ones with a trigger, and runs that may be lost.
// At start and every minute. Source: docs/architecture.md "Journal", Sweep.
//
//   S1. The sweep only adds wakes; the pass they lead to looks at the object itself. So a needless one costs a look, a missing one a job.

import { type Kysely, type RawBuilder, sql } from 'kysely'
import {
  type Controller,
  groupKindOf,
  jobIDsOf,
  type Mode,
  ownerOfKind,
  type TriggerMark,
  wantedOf,
} from '../../../workflows/kit/index.ts'
import type { Database } from '../database.ts'
import { jobAbove, type JournaledObject, readSubjects, type SubjectState } from '../read/objects.ts'
import type { Job } from './jobs.ts'
import { type NewWake, upsertWakes } from './wakes.ts'

/** What the sweep has to know of a controller in mode job or group. */
export type SweptController = Pick<Controller, 'name' | 'target' | 'wantedRun' | 'triggers' | 'group' | 'hostedBy'>

export interface SweepInput {
  readonly cluster: string
  readonly now: Date
  readonly controllers: readonly SweptController[]
  /** The kinds (`groupKindText`) that the bridge follows: until one was listed, a missing object of it says nothing. */
  readonly watchedKinds: readonly string[]
}

type Found = Pick<NewWake, 'uid' | 'job_id' | 'namespace' | 'name' | 'seq' | 'cause'>

/** Makes wakes of stranded subjects; returns how many. */
export async function sweepWakes(db: Kysely<Database>, input: SweepInput): Promise<number> {
  const { cluster, now, controllers } = input
  let count = 0
  for (const swept of controllers) {
    const found =
      swept.group === undefined
        ? await strandedSubjects(db, input, swept)
        : [...(await strandedGroups(db, input, swept)), ...(await leftMembers(db, input, swept))]
    const wakes = found.map((one): NewWake => ({
      ...{ controller: swept.name, cluster, due: now, foreign_event: true, may_start: true, writer: null },
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

function marked({ at, when }: TriggerMark): RawBuilder<unknown> {
  const found = sql`o.projection #> ${[...at]}::text[] is not null`
  return when === 'edited' ? sql`${found} and ${EDITED}` : found
}

/** Objects that may ask for a run: whether one does, the controller says. */
async function strandedSubjects(db: Kysely<Database>, input: SweepInput, swept: SweptController): Promise<Found[]> {
  const { name, target, triggers } = swept
  const { group, kind } = groupKindOf(target)
  const asks = [UNFINISHED, DELETING, ...triggers.map(marked)].map((condition) => sql`(${condition})`)
  const { rows } = await sql<Pick<JournaledObject, 'uid'>>`
    select o.uid from object o
    where o.cluster = ${input.cluster} and o.api_group = ${group} and o.kind = ${kind} and not o.deleted and (${sql.join(asks, sql` or `)})
      and not exists (select from job j where j.controller = ${name} and j.uid = o.uid and j.outcome is null)
      and not exists (select from wake w where w.controller = ${name} and w.uid = o.uid)
    order by o.uid`.execute(db)
  return await asking(db, input, swept, rows)
}

/** Members of groups that are being deleted and have no owner left: each is a subject of its own. */
async function leftMembers(db: Kysely<Database>, input: SweepInput, swept: SweptController): Promise<Found[]> {
  const { name, target } = swept
  const { group, kind } = groupKindOf(target)
  const { rows } = await sql<Pick<JournaledObject, 'uid'>>`
    select o.uid from object o
    where o.cluster = ${input.cluster} and o.api_group = ${group} and o.kind = ${kind} and not o.deleted
      and not (${UNFINISHED}) and ${DELETING}
      and not exists (select from wake w where w.controller = ${name} and w.uid = o.uid)
    order by o.uid`.execute(db)
  return await asking(db, input, swept, rows)
}

// Whole projections are read, so many objects are asked about in parts.
const PART = 500

async function asking(
  db: Kysely<Database>,
  { cluster, watchedKinds }: SweepInput,
  swept: SweptController,
  candidates: readonly Pick<JournaledObject, 'uid'>[],
): Promise<Found[]> {
  const found: Found[] = []
  for (let from = 0; from < candidates.length; from += PART) {
    const ids = candidates.slice(from, from + PART).map(({ uid }) => ({ cluster, ...groupKindOf(swept.target), uid }))
    const states = await readSubjects(db, ids, watchedKinds)
    found.push(...states.flatMap((state) => (state === undefined ? [] : asked(state, swept))))
  }
  return found
}

function asked(state: SubjectState, { wantedRun, hostedBy = [] }: SweptController): Found[] {
  const { object, owner } = state
  const wanted = wantedOf(wantedRun, object.projection, owner, jobAbove(state, hostedBy.length))
  if (wanted === undefined || 'none' in wanted) return []
  const { uid, namespace, name, seq } = object
  const cause = wanted.jobID === undefined ? 'sweep: trigger without a run' : 'sweep: unfinished job without a run'
  return [{ uid, job_id: '', namespace, name, seq, cause }]
}

type UnfinishedMember = Pick<JournaledObject, 'uid' | 'owner_uid' | 'namespace' | 'name' | 'seq' | 'projection'> & {
  readonly owner_name: string | null
}

async function strandedGroups(
  db: Kysely<Database>,
  { cluster }: SweepInput,
  { name: controller, target, group }: SweptController,
): Promise<Found[]> {
  const member = groupKindOf(target)
  const { rows } = await sql<UnfinishedMember>`
    select o.uid, o.owner_uid, o.namespace, o.name, o.seq, o.projection, p.name as owner_name
    from object o left join object p on p.cluster = o.cluster and p.uid = o.owner_uid
    where o.cluster = ${cluster} and o.api_group = ${member.group} and o.kind = ${member.kind} and not o.deleted and ${UNFINISHED}
      and not exists (
        select from object h where h.cluster = o.cluster and h.uid in (p.uid, p.owner_uid) and not h.deleted
          and h.projection #>> '{status,jobID}' = o.projection #>> '{status,jobID}'
          and h.projection #>> '{status,jobIDFinished}' is distinct from o.projection #>> '{status,jobID}')
      and not exists (select from job j
                      where j.controller = ${controller} and j.uid = coalesce(o.owner_uid, o.uid)
                        and j.job_id = o.projection #>> '{status,jobID}' and j.outcome is null)
      and not exists (select from wake w
                      where w.controller = ${controller} and w.uid = coalesce(o.owner_uid, o.uid)
                        and w.job_id = o.projection #>> '{status,jobID}')
    order by o.seq desc`.execute(db)
  const groups = new Map<string, Found>()
  for (const { uid, owner_uid, namespace, name, seq, projection, owner_name } of rows) {
    if (group?.serves(projection) !== true) continue
    const job_id = jobIDsOf(projection).jobID ?? ''
    const owner = owner_name ?? ownerOfKind(projection, groupKindOf(group.owner))?.name
    const subject = { uid: owner_uid ?? uid, job_id, namespace, name: owner ?? name, seq }
    const key = `${subject.uid}/${job_id}`
    // The newest comes first.
    if (!groups.has(key)) groups.set(key, { ...subject, cause: 'sweep: unfinished job without a run' })
  }
  return [...groups.values()]
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

/**
 * Temporal does not run this job any more: closes its row as `lost` and wakes its subject, which starts it again if it is unfinished.
 *
 * @param mode of the controller; undefined when none of its name is known here.
 */
export async function recordLostJob(db: Kysely<Database>, job: Job, mode: Mode | undefined, now: Date): Promise<void> {
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
      ...subjectOf(job, mode),
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
export async function wakeIfBehind(
  db: Kysely<Database>,
  job: Job,
  mode: Mode | undefined,
  now: Date,
): Promise<boolean> {
  const { controller, uid, job_id, cluster, last_pass_at, started_at } = job
  const { rows } = await sql<{ seq: number }>`
    select o.seq from object o
    where o.cluster = ${cluster} and (o.uid = ${uid} or o.owner_uid = ${uid} or o.owner_uid in (
      select c.uid from object c where c.cluster = ${cluster} and c.owner_uid = ${uid})) and o.updated_at > ${last_pass_at ?? started_at}
    union all
    select o.seq from subscription s
    join object o on o.cluster = s.cluster and o.api_group = s.api_group and o.kind = s.kind
      and s.namespace in (o.namespace, '*') and s.name in (o.name, '*')
    where s.controller = ${controller} and s.uid = ${uid} and s.job_id = ${job_id} and s.cluster = ${cluster}
      and o.updated_at > ${last_pass_at ?? started_at}
    order by seq desc limit 1`.execute(db)
  const [changed] = rows
  if (changed === undefined) return false
  const cause = 'sweep: changes after the last pass'
  const wake = {
    ...subjectOf(job, mode),
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

/** As wakes name it: groups by their job, all others by their object. */
function subjectOf({ controller, uid, job_id, cluster, namespace, name }: Job, mode: Mode | undefined) {
  return { controller, uid, job_id: mode === 'group' ? job_id : '', cluster, namespace, name }
}
