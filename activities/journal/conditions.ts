// Of which kinds the journal knows all that there is. Source: docs/adr/0039.
//
//   L1. One is listed on the timeline of PostgreSQL's log on which its bridge has listed it, or gone on from there. A server that takes the place of another
//       one may lack the last commits: until the bridge has listed anew, a row that is missing there says nothing.
//   L2. Rows of a former version say no timeline, and count.

import { sql, type Kysely, type RawBuilder } from 'kysely'
import type { GroupKind, Path } from '../../workflows/kit/index.ts'
import type { Database } from './database.ts'

/** The first part of the name of the file that the server writes its log to. */
export const TIMELINE = sql<string>`left(pg_walfile_name(pg_current_wal_insert_lsn()), 8)`

/** L1, L2: whether a row of `watch_checkpoint` is of the present timeline. */
const ON_CURRENT_TIMELINE = sql<boolean>`(timeline is null or timeline = ${TIMELINE})`

/** The kinds of which a list was journaled, as an array of `group` and `kind`. */
export const listedKinds = (cluster: string) => sql`(
  select coalesce(json_agg(json_build_object('group', api_group, 'kind', kind)), '[]') from watch_checkpoint
  where cluster = ${cluster} and resource_version is not null and ${ON_CURRENT_TIMELINE})`

// The rows of the objects of one kind that live, for queries to narrow further.

export const livingObjects = (db: Kysely<Database>, cluster: string, { group, kind }: GroupKind) =>
  db
    .selectFrom('object')
    .where('cluster', '=', cluster)
    .where('api_group', '=', group)
    .where('kind', '=', kind)
    .where('deleted', '=', false)

// Whose child an object is, as PostgreSQL decides it over rows of `object`. The rules (P1-P3) stand in workflows/kit/run/owners.ts; a test compares both.

/**
 * Whether one row is the child of another.
 *
 * @param child alias of a row of `object`; of its owner references a projection keeps the controlling one.
 * @param owner alias of another.
 */
export function isChildRow(child: string, owner: string): RawBuilder<boolean> {
  const [c, o] = [sql.ref(child), sql.ref(owner)]
  const reference = (key: string) => sql`${c}.projection #>> ${sql.lit(`{metadata,ownerReferences,0,${key}}`)}`
  return sql`(${c}.cluster = ${o}.cluster and ${c}.owner_uid = ${o}.uid and ${o}.namespace in (${c}.namespace, '')
    and ${reference('name')} = ${o}.name and ${reference('kind')} = ${o}.kind
    and (case when strpos(${reference('apiVersion')}, '/') = 0 then '' else split_part(${reference('apiVersion')}, '/', 1) end) = ${o}.api_group)`
}

// What a process leaves to others of a controller's subjects: those of the lanes that it does not serve. The lane is asked of the subject's row when a
// wake is taken, so a wake says nothing of it, and whoever makes one need not know.

export interface UnhandledPartitions {
  readonly controller: string
  /** Where a subject's projection says its lane. */
  readonly at: Path
  readonly lanes: readonly string[]
}

/** Of a row that names controller, cluster and uid: whether its subject is in none of these lanes. @param table or alias of the rows. */
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

// The namespaces in which anything is to be woken, each found by one step in an index: never a scan of what waits in them.

/** For `with recursive`: the rows of `space`, whose `namespace` is null in the last one. */
export function wakeNamespaces(cluster: string): RawBuilder<unknown> {
  return sql`space as (
      (select namespace from wake where cluster = ${cluster} order by namespace limit 1)
      union all
      select (select w.namespace from wake w where w.cluster = ${cluster} and w.namespace > space.namespace order by w.namespace limit 1)
      from space where space.namespace is not null)`
}
