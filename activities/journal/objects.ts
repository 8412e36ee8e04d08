// The newest known state of objects. Read-only: only journalEvents writes these rows.

import { type Kysely, type Selectable, sql } from 'kysely'
import type { Database, ObjectTable } from './database.ts'

export type JournaledObject = Selectable<ObjectTable>

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
