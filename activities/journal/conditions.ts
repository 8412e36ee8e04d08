// SQL conditions that the journal's reads and writes share.
//
//   L1. A kind counts as listed on the timeline of PostgreSQL's log on which its bridge listed it. A server that
//       replaces another one may lack its last commits: until the bridge has listed the kind again, a missing row
//       proves nothing. Source: docs/adr/0039.
//   L2. Rows of a previous version have no timeline and count as listed.

import { sql, type Kysely, type RawBuilder } from 'kysely'
import type { GroupKind, Path } from '../../workflows/kit/index.ts'
import type { Database } from './database.ts'

/** The current timeline: the first part of the name of the server's log file. */
export const TIMELINE = sql<string>`left(pg_walfile_name(pg_current_wal_insert_lsn()), 8)`

/** Whether a row of `watch_checkpoint` belongs to the current timeline (L1, L2). */
const ON_CURRENT_TIMELINE = sql<boolean>`(timeline is null or timeline = ${TIMELINE})`

/** The listed kinds, as a JSON array of `group` and `kind`. */
export const listedKinds = (cluster: string) => sql`(
  select coalesce(json_agg(json_build_object('group', api_group, 'kind', kind)), '[]') from watch_checkpoint
  where cluster = ${cluster} and resource_version is not null and ${ON_CURRENT_TIMELINE})`

/** Query of the existing objects of one kind. */
export const livingObjects = (db: Kysely<Database>, cluster: string, { group, kind }: GroupKind) =>
  db
    .selectFrom('object')
    .where('cluster', '=', cluster)
    .where('api_group', '=', group)
    .where('kind', '=', kind)
    .where('deleted', '=', false)

/**
 * Whether one row is the child of another row, by the rules P1-P3 of workflows/kit/run/owners.ts; a test compares both
 * implementations.
 *
 * @param child alias of a row of `object`; its projection contains the controlling owner reference only.
 * @param owner alias of another row of `object`.
 */
export function isChildRow(child: string, owner: string): RawBuilder<boolean> {
  const [c, o] = [sql.ref(child), sql.ref(owner)]
  const reference = (key: string) => sql`${c}.projection #>> ${sql.lit(`{metadata,ownerReferences,0,${key}}`)}`
  return sql`(${c}.cluster = ${o}.cluster and ${c}.owner_uid = ${o}.uid and ${o}.namespace in (${c}.namespace, '')
    and ${reference('name')} = ${o}.name and ${reference('kind')} = ${o}.kind
    and (case when strpos(${reference('apiVersion')}, '/') = 0 then '' else split_part(${reference('apiVersion')}, '/', 1) end) = ${o}.api_group)`
}

/** Partitions of a controller's subjects that this process leaves to other processes. */
export interface UnhandledPartitions {
  readonly controller: string
  /** Path of the partition in a subject's projection. */
  readonly at: Path
  readonly lanes: readonly string[]
}

/**
 * Whether the row's subject is in none of these partitions. The partition is read from the subject's row when a wake is
 * claimed, so a wake does not contain it.
 *
 * @param table table or alias of rows with the columns controller, cluster and uid.
 */
export function isInHandledPartition(
  table: 'wake' | 'w' | 'j',
  left: readonly UnhandledPartitions[],
): RawBuilder<boolean> {
  const row = (column: 'controller' | 'cluster' | 'uid') => sql.ref(`${table}.${column}`)
  const conditions = left.map(
    ({ controller, at, lanes }) => sql`not (${row('controller')} = ${controller} and exists (
      select from object o where o.cluster = ${row('cluster')} and o.uid = ${row('uid')}
        and o.projection #>> ${[...at]}::text[] = any(${[...lanes]}::text[])))`,
  )
  return conditions.length === 0 ? sql<boolean>`true` : sql<boolean>`(${sql.join(conditions, sql` and `)})`
}

/**
 * For `with recursive`: the rows of `space` are the namespaces that have wakes; `namespace` is null in the last row.
 * One index step finds each namespace, without a scan of its wakes.
 */
export function wakeNamespaces(cluster: string): RawBuilder<unknown> {
  return sql`space as (
      (select namespace from wake where cluster = ${cluster} order by namespace limit 1)
      union all
      select (select w.namespace from wake w where w.cluster = ${cluster} and w.namespace > space.namespace order by w.namespace limit 1)
      from space where space.namespace is not null)`
}
