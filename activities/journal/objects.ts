// The newest known state of objects. Read-only: only journalEvents writes these rows.

import { type Kysely, type Selectable, sql } from 'kysely'
import { path, valueAt } from '../../workflows/kit/index.ts'
import type { Database, Json, ObjectTable } from './database.ts'

export type JournaledObject = Selectable<ObjectTable>

/** Whether an object's controlling owner is there. `unknown`: the owner's kind was not listed yet, so that a missing row says nothing. */
export type OwnerState = 'present' | 'gone' | 'unknown'

/**
 * The state of the owner of an object, `gone` when it has none.
 *
 * @param watchedKinds the kinds that the bridge follows; of others no row is ever written, so their missing one means nothing else than gone.
 */
export async function ownerState(
  db: Kysely<Database>,
  cluster: string,
  { owner_uid, projection }: Pick<JournaledObject, 'owner_uid' | 'projection'>,
  watchedKinds: readonly string[],
): Promise<OwnerState> {
  if (owner_uid === null) return 'gone'
  const kind = ownerKind(projection)
  const { rows } = await sql<{ deleted: boolean | null; listed: boolean }>`
    select (select bool_and(deleted) from object where cluster = ${cluster} and uid = ${owner_uid}) as deleted,
           exists (select from watch_checkpoint where cluster = ${cluster} and kind = ${kind}
                   and resource_version is not null) as listed`.execute(db)
  const [owner] = rows
  if (owner?.deleted === false) return 'present'
  if (owner?.deleted === true || owner?.listed === true) return 'gone'
  return watchedKinds.includes(kind) ? 'unknown' : 'gone'
}

const OWNERS = path('metadata.ownerReferences')

/** A projection keeps the controlling owner only. */
function ownerKind(projection: Json): string {
  const references = valueAt(projection, OWNERS)
  return Array.isArray(references) ? ((references as { kind?: string }[])[0]?.kind ?? '') : ''
}

/** One object by its uid; also when it is deleted. */
export async function readObject(
  db: Kysely<Database>,
  cluster: string,
  kind: string,
  uid: string,
): Promise<JournaledObject | undefined> {
  return await db
    .selectFrom('object')
    .selectAll()
    .where('cluster', '=', cluster)
    .where('kind', '=', kind)
    .where('uid', '=', uid)
    .executeTakeFirst()
}

export interface ObjectName {
  readonly cluster: string
  readonly kind: string
  readonly namespace: string
  readonly name: string
}

/** The object that has the name now; undefined when it is deleted or was never there. */
export async function findObject(
  db: Kysely<Database>,
  { cluster, kind, namespace, name }: ObjectName,
): Promise<JournaledObject | undefined> {
  return await db
    .selectFrom('object')
    .selectAll()
    .where('cluster', '=', cluster)
    .where('kind', '=', kind)
    .where('namespace', '=', namespace)
    .where('name', '=', name)
    .where('deleted', '=', false)
    .orderBy('resource_version', 'desc')
    .executeTakeFirst()
}

/**
 * A version of the kind that a LIST must not be older than: the newest journaled one in the namespace, else the kind's checkpoint.
 * Undefined when neither is known.
 */
export async function newestVersion(
  db: Kysely<Database>,
  cluster: string,
  kind: string,
  namespace: string,
): Promise<number | undefined> {
  const { rows } = await sql<{ version: number | null }>`
    select coalesce(
      (select resource_version from object
       where cluster = ${cluster} and kind = ${kind} and namespace = ${namespace} and resource_version > 0
       order by resource_version desc limit 1),
      (select resource_version from watch_checkpoint where cluster = ${cluster} and kind = ${kind})
    ) as version`.execute(db)
  return rows[0]?.version ?? undefined
}
