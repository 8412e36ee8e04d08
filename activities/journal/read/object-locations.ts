// Finds the kind, namespace and name of objects by their uid, to check whether a user may see them.

import { sql } from 'kysely'

import type { GroupKind } from '../../../workflows/kit/index.ts'
import type { Journal } from './reader.ts'

export interface LocatedObject extends GroupKind {
  readonly uid: string
  /** Empty for cluster-scoped objects. */
  readonly namespace: string
  readonly name: string
}

/** Locations of objects by uid. Objects without a row are missing. */
export async function locationsOf(
  { db, cluster }: Journal,
  uids: readonly string[],
): Promise<ReadonlyMap<string, LocatedObject>> {
  if (uids.length === 0) return new Map()
  const rows = await db
    .selectFrom('object')
    .select(['uid', 'api_group as group', 'kind', 'namespace', 'name'])
    .where(sql<boolean>`uid = any(${[...new Set(uids)]}::text[])`)
    .where('cluster', '=', cluster)
    .execute()
  return new Map(rows.map((row) => [row.uid, row]))
}

/** Locations of the runs' objects by workflow ID. */
export async function locationsOfRuns(
  journal: Journal,
  workflowIDs: readonly string[],
): Promise<ReadonlyMap<string, LocatedObject>> {
  if (workflowIDs.length === 0) return new Map()
  const rows = await journal.db
    .selectFrom('job')
    .select(['workflow_id as workflowID', 'uid'])
    .where(sql<boolean>`workflow_id = any(${[...new Set(workflowIDs)]}::text[])`)
    .where('cluster', '=', journal.cluster)
    .execute()
  const places = await locationsOf(
    journal,
    rows.map(({ uid }) => uid),
  )
  return new Map(
    rows.flatMap(({ workflowID, uid }) => {
      const place = places.get(uid)
      return place === undefined ? [] : [[workflowID, place] as const]
    }),
  )
}

/** The namespaces with journaled objects of a kind, at most `most`. One index step finds each namespace. */
export async function namespacesOf(
  { db, cluster }: Journal,
  { group, kind }: GroupKind,
  most: number,
): Promise<readonly string[]> {
  const rows = await db
    .selectFrom(
      sql<{ namespace: string }>`(
    with recursive space as (
      (select namespace from object where cluster = ${cluster} and api_group = ${group} and kind = ${kind} order by namespace limit 1)
      union all
      select (select o.namespace from object o
              where o.cluster = ${cluster} and o.api_group = ${group} and o.kind = ${kind} and o.namespace > space.namespace
              order by o.namespace limit 1)
      from space where space.namespace is not null)
    select namespace from space where namespace is not null limit ${most})`.as('found'),
    )
    .select('namespace')
    .execute()
  return rows.map(({ namespace }) => namespace)
}
