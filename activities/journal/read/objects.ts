// The newest known state of objects. Read-only: only journalEvents writes these rows.

import { type Kysely, type RawBuilder, type Selectable, sql } from 'kysely'
import {
  type GroupKind,
  groupKindOf,
  groupKindText,
  isLaneServed,
  path,
  valueAt,
} from '../../../workflows/kit/index.ts'
import type { Database, Json, ObjectTable } from '../database.ts'

export type JournaledObject = Selectable<ObjectTable>

/** Whether an object's controlling owner is there. `unknown`: the owner's kind was not listed yet, so that a missing row says nothing. */
export type OwnerState = 'present' | 'gone' | 'unknown'

/** An object of a cluster, by its kind and uid. */
export interface ObjectID extends GroupKind {
  readonly cluster: string
  readonly uid: string
}

export interface SubjectState {
  readonly object: JournaledObject
  readonly owner: OwnerState
  /** The jobs that the owner has unfinished, and its own owner; undefined: none. Of its own namespace only: no child crosses it. */
  readonly jobsAbove: readonly (string | undefined)[]
  /** The lanes that the open run of these jobs serves; null: all, also where none is open. */
  readonly hostServes: readonly string[] | null
}

/**
 * The unfinished job of the nearest of so many hosts that has one: a hosted owner may not show yet that it has begun. Undefined, too, when the run
 * of that job does not serve the lane of the object: then nobody hosts it.
 */
export function jobAbove(
  { jobsAbove, hostServes }: Pick<SubjectState, 'jobsAbove' | 'hostServes'>,
  hosts: number,
  lane?: string,
): string | undefined {
  return isLaneServed(hostServes, lane) ? jobsAbove.slice(0, hosts).find((jobID) => jobID !== undefined) : undefined
}

/** Objects of one cluster with the states of their owners, in the order of the IDs; undefined for those that were never there. One query. */
export async function readSubjects(
  db: Kysely<Database>,
  ids: readonly ObjectID[],
  watchedKinds: readonly string[],
): Promise<readonly (SubjectState | undefined)[]> {
  const cluster = ids[0]?.cluster ?? ''
  const { rows } = await sql<JournaledObject & Owner>`
    select o.*, p.deleted as owner_deleted, p.running as owner_job, g.running as next_job,
           h.serves as host_serves, ${listedKinds(cluster)} as listed
    from object o
    left join lateral (${ownerRow(sql`o`)}) p on true
    left join lateral (${ownerRow(sql`p`)}) g on true
    left join lateral (
      select serves from job where cluster = ${cluster} and uid in (o.owner_uid, p.owner_uid) and outcome is null and serves is not null
        and job_id in (p.running, g.running)
      order by uid = o.owner_uid desc limit 1) h on true
    where o.cluster = ${cluster} and o.uid = any(${[...new Set(ids.map(({ uid }) => uid))]}::text[])`.execute(db)
  return ids.map(({ group, kind, uid }) => {
    const row = rows.find((one) => one.kind === kind && one.api_group === group && one.uid === uid)
    if (row === undefined) return undefined
    const { owner_deleted, owner_job, next_job, host_serves: hostServes, listed, ...object } = row
    const owner = stateOfOwner(object, { deleted: owner_deleted, listed }, watchedKinds)
    const jobsAbove = owner === 'present' ? [owner_job ?? undefined, next_job ?? undefined] : []
    return { object, owner, jobsAbove, hostServes }
  })
}

interface Owner {
  readonly owner_deleted: boolean | null
  readonly owner_job: string | null
  readonly next_job: string | null
  readonly host_serves: readonly string[] | null
  readonly listed: readonly GroupKind[]
}

/** What is asked of an object's owner; no row where nothing is known of it. */
const ownerRow = (of: RawBuilder<unknown>) => sql`
  select owner_uid, cluster, namespace, deleted, case when namespace = ${of}.namespace and
      projection #>> '{status,jobID}' is distinct from projection #>> '{status,jobIDFinished}' and not deleted
    then projection #>> '{status,jobID}' end as running
  from object where cluster = ${of}.cluster and uid = ${of}.owner_uid order by deleted limit 1`

/** The kinds of which a list was journaled. */
const listedKinds = (cluster: string) => sql`(
  select coalesce(json_agg(json_build_object('group', api_group, 'kind', kind)), '[]') from watch_checkpoint
  where cluster = ${cluster} and resource_version is not null)`

function stateOfOwner(
  { owner_uid, projection }: Pick<JournaledObject, 'owner_uid' | 'projection'>,
  { deleted, listed }: { readonly deleted: boolean | null; readonly listed: readonly GroupKind[] },
  watchedKinds: readonly string[],
): OwnerState {
  if (owner_uid === null) return 'gone'
  if (deleted === false) return 'present'
  const kind = ownerKind(projection)
  if (deleted === true || listed.some((one) => groupKindText(one) === kind)) return 'gone'
  return watchedKinds.includes(kind) ? 'unknown' : 'gone'
}

const OWNERS = path('metadata.ownerReferences')

/** A projection keeps the controlling owner only. */
function ownerKind(projection: Json): string {
  const references = valueAt(projection, OWNERS)
  const [owner] = Array.isArray(references) ? (references as { apiVersion?: string; kind?: string }[]) : []
  return groupKindText(groupKindOf({ apiVersion: owner?.apiVersion ?? '', kind: owner?.kind ?? '' }))
}

/** A version of the kind that a LIST over all namespaces must not be older than; undefined when none is known. */
export async function newestVersionAnywhere(
  db: Kysely<Database>,
  cluster: string,
  { group, kind }: GroupKind,
): Promise<number | undefined> {
  const { rows } = await sql<{ version: number | null }>`
    select greatest(
      (select max(resource_version) from object where cluster = ${cluster} and api_group = ${group} and kind = ${kind}),
      (select resource_version from watch_checkpoint where cluster = ${cluster} and api_group = ${group} and kind = ${kind})
    ) as version`.execute(db)
  return rows[0]?.version ?? undefined
}

/**
 * A version of the kind that a LIST must not be older than: the newest journaled one in the namespace, else the kind's checkpoint.
 * Undefined when neither is known.
 */
export async function newestVersion(
  db: Kysely<Database>,
  cluster: string,
  { group, kind }: GroupKind,
  namespace: string,
): Promise<number | undefined> {
  const { rows } = await sql<{ version: number | null }>`
    select coalesce(
      (select resource_version from object
       where cluster = ${cluster} and api_group = ${group} and kind = ${kind} and namespace = ${namespace} and resource_version > 0
       order by resource_version desc limit 1),
      (select resource_version from watch_checkpoint where cluster = ${cluster} and api_group = ${group} and kind = ${kind})
    ) as version`.execute(db)
  return rows[0]?.version ?? undefined
}
