// Due wakes that may start a run and are not leased, in the order in which they are claimed (write/wakes.ts, W6).

import { type Kysely, type RawBuilder, sql } from 'kysely'
import type { Database } from '../database.ts'
import { isInHandledPartition, type UnhandledPartitions, wakeNamespaces } from '../conditions.ts'
import type { Wake } from '../write/wakes.ts'
import { MOST_AHEAD } from './limits.ts'
import type { Journal } from './reader.ts'

export interface QueuePosition {
  /** Time since which the wake is due. */
  readonly due: Date
  /** Number of earlier wakes in its namespace; `MOST_AHEAD` means this many or more. */
  readonly ahead: number
}

export interface WaitingWakesQuery {
  readonly cluster: string
  readonly controllers: readonly string[]
  /** Excludes wakes of subjects in these partitions. */
  readonly unhandledPartitions: readonly UnhandledPartitions[]
  /** Includes only wakes that are due at this time. */
  readonly since: Date
  readonly now: Date
  /** Versions to exclude. */
  readonly known: readonly number[]
  /** Maximum number per namespace, and in total. */
  readonly mostOfNamespace: number
  readonly most: number
}

/** The longest-waiting wakes of each namespace; the first of every namespace comes first. */
export async function waitingWakes(
  db: Kysely<Database>,
  query: WaitingWakesQuery,
): Promise<readonly (Wake & QueuePosition)[]> {
  const { cluster, controllers, unhandledPartitions, since, now, known, mostOfNamespace, most } = query
  const { rows } = await sql<Wake & QueuePosition>`
    with recursive ${wakeNamespaces(cluster)},
    waiting as (
      select w.*, row_number() over (partition by w.namespace order by w.due, w.version) as place
      from space cross join lateral (
        select w.* from wake w
        where w.cluster = ${cluster} and w.namespace = space.namespace and w.may_start and w.due <= ${since}
          and ${isUnleased(sql`${now}::timestamptz`)} and w.controller = any(${controllers}::text[])
          and w.version <> all(${known}::bigint[]) and ${isInHandledPartition('w', unhandledPartitions)}
        order by w.due limit ${mostOfNamespace}) w
      order by place, due limit ${most})
    select w.*, ${AHEAD} as ahead from waiting w order by w.place, w.due`.execute(db)
  return rows
}

/** Queue positions of these subjects' waiting wakes, by uid. */
export async function waitingOf(
  { db, cluster }: Journal,
  controllers: readonly string[],
  uids: readonly string[],
): Promise<ReadonlyMap<string, QueuePosition>> {
  if (controllers.length === 0 || uids.length === 0) return new Map()
  const rows = await db
    .selectFrom('wake as w')
    .select(['w.uid', 'w.due', AHEAD.as('ahead')])
    .where('w.cluster', '=', cluster)
    .where('w.controller', 'in', controllers)
    .where(sql<boolean>`w.uid = any(${[...uids]}::text[])`)
    .where('w.may_start', '=', true)
    .where(sql<boolean>`w.due <= now() and ${isUnleased(sql`now()`)}`)
    .execute()
  return new Map(rows.map(({ uid, due, ahead }) => [uid, { due, ahead }]))
}

function isUnleased(now: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`(w.lease_until is null or w.lease_until <= ${now})`
}

// Wakes of one batch have the same due time; their versions give the order.
const AHEAD = sql<number>`(
  select count(*)::int from (
    select from wake b where b.cluster = w.cluster and b.namespace = w.namespace and b.may_start and b.due <= w.due
      and (b.due < w.due or b.version < w.version)
    limit ${sql.lit(MOST_AHEAD)}) b)`
