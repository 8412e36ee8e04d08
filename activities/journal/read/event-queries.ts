// Queries of users about events: the events of an object, the run behind an event, the run's writes, and pending wakes.

import { sql } from 'kysely'
import type { GroupKind, Projection } from '../../../workflows/kit/index.ts'
import type { Json } from '../database.ts'
import { MOST_EVENTS, MOST_WRITES } from './limits.ts'
import type { Journal } from './reader.ts'

export interface EventRecord {
  readonly seq: number
  readonly at: Date
  readonly uid: string
  readonly version: number
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'
  readonly source: 'watch' | 'relist' | 'write'
  /** Workflow ID of the run that wrote this version; null: another writer. */
  readonly writer: string | null
  /** Field manager of a version without `writer`; null: unknown. The client chooses the name. */
  readonly manager: string | null
  readonly projection: Projection
  readonly outcome: 'wake' | 'ignored' | 'stale'
  readonly reason: string | null
}

export interface RunRecord {
  readonly workflowID: string
  /** Null: the run is not started in Temporal yet. */
  readonly runID: string | null
  readonly controller: string
  readonly uid: string
  readonly namespace: string
  readonly name: string
  readonly jobID: string
  readonly cause: string
  readonly startedAt: Date
  readonly passes: number
  readonly attempt: number
}

export interface WriteRecord {
  readonly pass: number
  readonly step: string
  readonly object: string
  readonly verb: string
  readonly version: number | null
  readonly error: Json | null
  readonly at: Date
  readonly answeredAt: Date | null
}

export interface AwaitedObject extends GroupKind {
  readonly namespace: string
  readonly name: string
  readonly since: Date
}

export interface PendingWake {
  readonly due: Date
  readonly cause: string
}

/**
 * The newest events of an object that changed its projection, in the order of versions. With `most` 1: the newest event
 * of any kind.
 */
export async function eventsOf(
  { db, cluster }: Journal,
  uid: string,
  most = MOST_EVENTS,
): Promise<readonly EventRecord[]> {
  const rows = await db
    .selectFrom('watch_event')
    .select([
      ...(['seq', 'at', 'uid', 'resource_version as version', 'type', 'source', 'writer'] as const),
      ...(['manager', 'projection', 'outcome', 'reason'] as const),
    ])
    .where('uid', '=', uid)
    .where('cluster', '=', cluster)
    // Leaves out own-write events and events without a journaled change, so that they do not use up the limit.
    .$if(most > 1, (events) =>
      events
        .where('outcome', '<>', 'stale')
        .where((is) => is.or([is('type', '=', 'DELETED'), sql<boolean>`projection <> '{}'::jsonb`])),
    )
    .orderBy('resource_version', 'desc')
    .limit(most)
    .execute()
  // Events may be journaled late; the version gives their order.
  return rows.toSorted((left, right) => left.version - right.version || left.seq - right.seq)
}

/** Returns the run with this workflow ID. */
export async function runOf({ db, cluster }: Journal, workflowID: string): Promise<RunRecord | undefined> {
  return await db
    .selectFrom('job')
    .select([
      ...(['workflow_id as workflowID', 'controller', 'uid', 'namespace', 'name', 'job_id as jobID'] as const),
      ...(['cause', 'started_at as startedAt', 'passes', 'attempt', 'run_id as runID'] as const),
    ])
    .where('workflow_id', '=', workflowID)
    .where('cluster', '=', cluster)
    .executeTakeFirst()
}

/**
 * The writes of a run, in order. The workflow ID belongs to one cluster.
 *
 * @param object only writes of this object, as named in actions.
 */
export async function writesOf({ db }: Journal, workflowID: string, object?: string): Promise<readonly WriteRecord[]> {
  const rows = await db
    .selectFrom('action')
    .select([
      ...(['seq', 'pass', 'step', 'object', 'verb', 'resource_version as version', 'error'] as const),
      ...(['started_at as at', 'finished_at as answeredAt'] as const),
    ])
    .where('workflow_id', '=', workflowID)
    .$if(object !== undefined, (query) => query.where('object', '=', object ?? ''))
    .orderBy('started_at', 'desc')
    .limit(MOST_WRITES)
    .execute()
  return rows.toSorted((left, right) => left.seq - right.seq)
}

/** The pending wake of a subject. */
export async function wakeOf(
  { db, cluster }: Journal,
  controller: string,
  uid: string,
): Promise<PendingWake | undefined> {
  return await db
    .selectFrom('wake')
    .select(['due', 'cause'])
    .where('controller', '=', controller)
    .where('uid', '=', uid)
    .where('cluster', '=', cluster)
    .orderBy('due')
    .limit(1)
    .executeTakeFirst()
}

/** The objects that the subjects' jobs wait for, by uid. */
export async function awaitedByAll(
  { db, cluster }: Journal,
  controllers: readonly string[],
  uids: readonly string[],
): Promise<ReadonlyMap<string, readonly AwaitedObject[]>> {
  if (controllers.length === 0 || uids.length === 0) return new Map()
  const rows = await db
    .selectFrom('subscription')
    .select(['uid', 'api_group as group', 'kind', 'namespace', 'name', 'created_at as since'])
    .where('controller', 'in', controllers)
    .where('cluster', '=', cluster)
    .where(sql<boolean>`uid = any(${[...uids]}::text[])`)
    .orderBy('name')
    .limit(10_000)
    .execute()
  const found = new Map<string, AwaitedObject[]>()
  for (const row of rows) found.set(row.uid, [...(found.get(row.uid) ?? []), row])
  return found
}

/** The last event of each object whose status has this job ID, by uid. */
export async function lastEventsIn(
  { db, cluster }: Journal,
  uids: readonly string[],
  { jobID, since }: { readonly jobID: string; readonly since: Date },
): Promise<ReadonlyMap<string, Pick<EventRecord, 'uid' | 'at' | 'type' | 'projection'>>> {
  if (uids.length === 0) return new Map()
  const rows = await db
    .selectFrom(sql<{ uid: string }>`unnest(${[...uids]}::text[])`.as<'u'>(sql`u(uid)`))
    .innerJoinLateral(
      (query) =>
        query
          .selectFrom('watch_event')
          .select(['watch_event.uid as uid', 'at', 'type', 'projection'])
          .whereRef('watch_event.uid', '=', 'u.uid')
          .where('cluster', '=', cluster)
          // Excludes older partitions. The margin covers differences between the clocks of machines.
          .where('at', '>=', new Date(since.getTime() - HOUR))
          .where(sql<boolean>`projection #>> '{status,jobID}' = ${jobID}`)
          .orderBy('resource_version', 'desc')
          .limit(1)
          .as('e'),
      (join) => join.onTrue(),
    )
    .selectAll('e')
    .execute()
  return new Map(rows.map((row) => [row.uid, row]))
}

const HOUR = 3_600_000
