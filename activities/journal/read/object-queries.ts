// Queries of users about objects and their newest jobs. Each is bounded by an index: a kind and namespace, a name, or
// an owner.

import { sql } from 'kysely'
import { type GroupKind, isChildOf, type Owner, type Projection } from '../../../workflows/kit/index.ts'
import type { Json } from '../database.ts'
import { MOST_LISTED } from './limits.ts'
import type { Journal } from './reader.ts'

/** An object's name with its namespace, as `kubectl get -o name` prints it. */
export interface ObjectName {
  readonly namespace: string
  readonly name: string
}

export interface ObjectRecord extends GroupKind, ObjectName {
  readonly uid: string
  readonly version: number
  readonly deleted: boolean
  readonly projection: Projection
  readonly updatedAt: Date
}

/** A job of an object, with its own run or hosted by another run. */
export interface JobRecord {
  readonly uid: string
  readonly workflowID: string
  readonly controller: string
  readonly jobID: string
  readonly cause: string
  readonly phase: string | null
  readonly phases: readonly { readonly phase: string; readonly at: string }[]
  /** Null while the job is open. */
  readonly outcome: string | null
  readonly lastError: Json | null
  readonly startedAt: Date
  readonly finishedAt: Date | null
}

const COLUMNS = [
  ...(['api_group as group', 'kind', 'uid', 'namespace', 'name', 'resource_version as version'] as const),
  ...(['deleted', 'projection', 'updated_at as updatedAt'] as const),
] as const

/** The kinds that the bridge watches. */
export async function followedKinds({ db, cluster }: Journal): Promise<readonly GroupKind[]> {
  return await db
    .selectFrom('watch_checkpoint')
    .select(['api_group as group', 'kind'])
    .where('cluster', '=', cluster)
    .orderBy('api_group')
    .orderBy('kind')
    .execute()
}

type Namespaces = string | readonly string[] | undefined

/**
 * The existing objects of a kind, by namespace and name.
 *
 * @param place one namespace or several; undefined: all.
 */
export async function listObjects(
  journal: Journal,
  of: GroupKind,
  place: Namespaces,
): Promise<readonly ObjectRecord[]> {
  return await livingObjectsIn(journal, of, place).select(COLUMNS).execute()
}

/** The same objects without their projections, for callers that need only names. */
export async function listNames(journal: Journal, of: GroupKind, place: Namespaces): Promise<readonly ObjectName[]> {
  return await livingObjectsIn(journal, of, place).select(['namespace', 'name']).execute()
}

function livingObjectsIn({ db, cluster }: Journal, { group, kind }: GroupKind, place: Namespaces) {
  const places = typeof place === 'string' ? [place] : place
  return db
    .selectFrom('object')
    .where('cluster', '=', cluster)
    .where('api_group', '=', group)
    .where('kind', '=', kind)
    .$if(places !== undefined, (query) => query.where(sql<boolean>`namespace = any(${[...(places ?? [])]}::text[])`))
    .where('deleted', '=', false)
    .orderBy('namespace')
    .orderBy('name')
    .limit(MOST_LISTED)
}

/** All journaled objects with this name: the existing one first, then the newest. */
export async function objectsNamed(
  { db, cluster }: Journal,
  of: GroupKind & { readonly namespace: string; readonly name: string },
): Promise<readonly ObjectRecord[]> {
  return await db
    .selectFrom('object')
    .select(COLUMNS)
    .where('cluster', '=', cluster)
    .where('api_group', '=', of.group)
    .where('kind', '=', of.kind)
    .where('namespace', '=', of.namespace)
    .where('name', '=', of.name)
    .orderBy('deleted')
    .orderBy('resource_version', 'desc')
    .limit(20)
    .execute()
}

/** The object with this uid, of any kind. */
export async function objectOf({ db, cluster }: Journal, uid: string): Promise<ObjectRecord | undefined> {
  return await db
    .selectFrom('object')
    .select(COLUMNS)
    .where('uid', '=', uid)
    .where('cluster', '=', cluster)
    .limit(1)
    .executeTakeFirst()
}

/** The objects controlled by these owners, including objects deleted since `since`. */
export async function childrenOf(
  { db, cluster }: Journal,
  owners: readonly Owner[],
  since: Date,
): Promise<readonly (ObjectRecord & { readonly owner: string })[]> {
  if (owners.length === 0) return []
  const namespaces = [...new Set(owners.map(({ namespace }) => namespace))]
  const rows = await db
    .selectFrom('object')
    .select([...COLUMNS, 'owner_uid as owner'])
    .where(sql<boolean>`owner_uid = any(${owners.map(({ uid }) => uid)}::text[])`)
    .$if(!namespaces.includes(''), (query) => query.where('namespace', 'in', namespaces))
    .where('cluster', '=', cluster)
    .where((is) => is.or([is('deleted', '=', false), is('updated_at', '>=', since)]))
    .orderBy('name')
    .limit(MOST_LISTED)
    .execute()
  const byUid = new Map(owners.map((owner) => [owner.uid, owner]))
  return rows.flatMap(({ owner: uid, ...row }) => {
    const owner = byUid.get(uid ?? '')
    // Any user may write owner references, so the full rule is checked.
    return owner !== undefined && isChildOf(row.projection, owner) ? [{ ...row, owner: owner.uid }] : []
  })
}

/** Outcome of runs without a job: they only added a finalizer, or observed that the object is paused (`RunResult`). */
const FINALIZER_ONLY = 'Guarded'

/** The newest job of each object that began in the period, by uid. Runs that ended without a job are excluded. */
export async function newestJobs(
  { db, cluster }: Journal,
  uids: readonly string[],
  { from, to }: { readonly from?: Date; readonly to?: Date | null } = {},
): Promise<ReadonlyMap<string, JobRecord>> {
  if (uids.length === 0) return new Map()
  const rows = await db
    .selectFrom(sql<{ uid: string }>`unnest(${[...uids]}::text[])`.as<'u'>(sql`u(uid)`))
    .innerJoinLateral(
      (query) =>
        query
          .selectFrom('object_job')
          .select(JOB)
          .whereRef('object_job.uid', '=', 'u.uid')
          .where('cluster', '=', cluster)
          .where(sql<boolean>`outcome is distinct from ${FINALIZER_ONLY}`)
          .$if(from !== undefined, (jobs) => jobs.where('started_at', '>=', from ?? new Date(0)))
          .$if(to instanceof Date, (jobs) => jobs.where('started_at', '<=', to ?? new Date(0)))
          .orderBy('started_at', 'desc')
          .limit(1)
          .as('j'),
      (join) => join.onTrue(),
    )
    .selectAll('j')
    .execute()
  return new Map(rows.map((row) => [row.uid, row]))
}

/** Maximum number of jobs of one object. */
const MOST_JOBS = 50

/** Reads the jobs of an object, newest first. A job ID or a run ID limits the result. */
export async function jobsOf(
  { db, cluster }: Journal,
  uid: string,
  { jobID, workflowID }: { readonly jobID?: string | undefined; readonly workflowID?: string } = {},
): Promise<readonly JobRecord[]> {
  return await db
    .selectFrom('object_job')
    .select(JOB)
    .where('uid', '=', uid)
    .where('cluster', '=', cluster)
    .$if(jobID !== undefined, (jobs) => jobs.where('job_id', '=', jobID ?? ''))
    .$if(workflowID !== undefined, (jobs) => jobs.where('workflow_id', '=', workflowID ?? ''))
    .orderBy('started_at', 'desc')
    .limit(MOST_JOBS)
    .execute()
}

const JOB = [
  ...(['object_job.uid as uid', 'workflow_id as workflowID', 'controller', 'job_id as jobID', 'cause'] as const),
  ...(['phase', 'phases', 'outcome', 'last_error as lastError', 'started_at as startedAt'] as const),
  'finished_at as finishedAt',
] as const
