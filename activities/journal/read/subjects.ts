// Reads subjects with their owners and hosts from the journal. Only journalEvents writes these rows.

import { type Kysely, type RawBuilder, type Selectable, sql } from 'kysely'
import {
  type GroupKind,
  groupKindOf,
  groupKindText,
  isPartitionHandled,
  isSameGroupKind,
  ownerReferenceOf,
} from '../../../workflows/kit/index.ts'
import type { Database, ObjectTable } from '../database.ts'
import { listedKinds, isChildRow } from '../conditions.ts'

export type JournaledObject = Selectable<ObjectTable>

/**
 * Whether an object's controlling owner exists. `unknown`: the owner's kind is not listed yet, so a missing row proves
 * nothing.
 */
export type OwnerState = 'present' | 'gone' | 'unknown'

/** Identifies an object by cluster, kind and uid. */
export interface ObjectID extends GroupKind {
  readonly cluster: string
  readonly uid: string
}

export interface SubjectState {
  readonly object: JournaledObject
  readonly owner: OwnerState
  /** Kind in the controlling owner reference. */
  readonly ownerKind: GroupKind | undefined
  /** The owner and its owner, if they exist and the child relation is valid (kit/run/owners.ts). */
  readonly ancestors: readonly Ancestor[]
  /** Partitions that the open run of the ancestors' jobs handles; null: all, or no open run. */
  readonly hostPartitions: readonly string[] | null
}

export interface Ancestor extends GroupKind {
  /** Its unfinished job; undefined: none. */
  readonly jobID: string | undefined
}

/** The owner's state and the hosting job, for the subject's controller. */
export interface Parents {
  readonly owner: OwnerState
  /** The job that hosts the subject. */
  readonly jobID: string | undefined
}

/**
 * Determines the job that hosts the subject.
 *
 * @param hosts kinds whose runs may host it, the nearest first. An owner of another kind never passes a job down, so
 * the subject counts as having no owner. Empty for kinds that are never hosted, such as kinds of users: then the kind
 * of the owner does not matter.
 * @returns `jobID` of the nearest ancestor with an unfinished job, because a hosted owner may not show its job yet.
 * Undefined if that run does not handle the subject's partition.
 */
export function parentsOf(
  { owner, ownerKind, ancestors, hostPartitions }: Omit<SubjectState, 'object'>,
  hosts: readonly GroupKind[],
  lane?: string,
): Parents {
  const [nearest] = hosts
  if (nearest === undefined) return { owner, jobID: undefined }
  if (ownerKind === undefined || !isSameGroupKind(ownerKind, nearest)) return { owner: 'gone', jobID: undefined }
  const strange = ancestors.findIndex((one, index) => !isKind(one, hosts[index]))
  const found = (strange === -1 ? ancestors : ancestors.slice(0, strange)).find(({ jobID }) => jobID !== undefined)
  return { owner, jobID: isPartitionHandled(hostPartitions, lane) ? found?.jobID : undefined }
}

function isKind(one: GroupKind, kind: GroupKind | undefined): boolean {
  return kind !== undefined && isSameGroupKind(one, kind)
}

/**
 * Objects of one cluster with the states of their owners, in the order of the IDs; undefined for unknown objects. One
 * query.
 */
export async function readSubjects(
  db: Kysely<Database>,
  ids: readonly ObjectID[],
  watchedKinds: readonly string[],
): Promise<readonly (SubjectState | undefined)[]> {
  const cluster = ids[0]?.cluster ?? ''
  const { rows } = await sql<JournaledObject & OwnerRows>`
    select o.*, p.deleted as owner_deleted, json_build_array(p.above, g.above) as above,
           h.serves as host_serves, ${listedKinds(cluster)} as listed
    from object o
    left join lateral (${ownerRow('o')}) p on true
    left join lateral (${ownerRow('p')}) g on true
    left join lateral (
      select serves from job where cluster = ${cluster} and uid in (p.uid, g.uid) and outcome is null and serves is not null
        and job_id in (p.running, g.running)
      order by uid = p.uid desc limit 1) h on true
    where o.cluster = ${cluster} and o.uid = any(${[...new Set(ids.map(({ uid }) => uid))]}::text[])`.execute(db)
  return ids.map(({ group, kind, uid }) => {
    const row = rows.find((one) => one.kind === kind && one.api_group === group && one.uid === uid)
    if (row === undefined) return undefined
    const { owner_deleted, above, host_serves: hostPartitions, listed, ...object } = row
    const reference = ownerReferenceOf(object.projection)
    const ownerKind = reference === undefined ? undefined : groupKindOf(reference)
    const owner = stateOfOwner(ownerKind, { deleted: owner_deleted, listed }, watchedKinds)
    return { object, owner, ownerKind, ancestors: owner === 'present' ? ancestorsOf(above) : [], hostPartitions }
  })
}

interface OwnerRows {
  readonly owner_deleted: boolean | null
  readonly above: readonly (AncestorRow | null)[]
  readonly host_serves: readonly string[] | null
  readonly listed: readonly GroupKind[]
}

interface AncestorRow extends GroupKind {
  readonly jobID: string | null
}

function ancestorsOf(rows: readonly (AncestorRow | null)[]): readonly Ancestor[] {
  return rows.flatMap((row) => (row === null ? [] : [{ ...row, jobID: row.jobID ?? undefined }]))
}

/** Selects the owner's row; no row if the owner is unknown. The columns allow joining the owner's own owner. */
const ownerRow = (child: string): RawBuilder<unknown> => {
  const running = sql`case when not deleted and projection #>> '{status,jobID}' is distinct from projection #>> '{status,jobIDFinished}'
    then projection #>> '{status,jobID}' end`
  return sql`
    select candidate.*, ${running} as running, json_build_object('group', api_group, 'kind', kind, 'jobID', ${running}) as above
    from object candidate where ${isChildRow(child, 'candidate')} order by deleted limit 1`
}

function stateOfOwner(
  ownerKind: GroupKind | undefined,
  { deleted, listed }: { readonly deleted: boolean | null; readonly listed: readonly GroupKind[] },
  watchedKinds: readonly string[],
): OwnerState {
  if (ownerKind === undefined) return 'gone'
  if (deleted === false) return 'present'
  const kind = groupKindText(ownerKind)
  if (deleted === true || listed.some((one) => groupKindText(one) === kind)) return 'gone'
  return watchedKinds.includes(kind) ? 'unknown' : 'gone'
}

/** The minimum version for a LIST over all namespaces; undefined if no version is known. */
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
 * The minimum version for a LIST in a namespace: the newest journaled version there, otherwise the kind's checkpoint.
 * Undefined if neither is known.
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
