// Queries of the bridge about received events: which must wait for the answer of a write, and which are already
// journaled.

import { type Kysely, sql } from 'kysely'
import type { GroupKind, Projection } from '../../../workflows/kit/index.ts'
import type { Database } from '../database.ts'
import { livingObjects } from '../conditions.ts'

/** Received events of one kind. */
export interface ReceivedEvents extends GroupKind {
  readonly cluster: string
  /** The objects as named in actions (`objectText`). */
  readonly objects: readonly string[]
  readonly versions: readonly ReceivedVersion[]
}

export interface ReceivedVersion {
  readonly uid: string
  readonly version: number
  /** The event is a deletion. */
  readonly gone: boolean
}

export interface ReceivedEventsState {
  /** Objects whose events must wait for the answer of a write (actions.ts, A2). */
  readonly held: ReadonlySet<string>
  /** Writes whose hold time is over and that have no answer, usually because their process died. */
  readonly unanswered: readonly UnansweredWrite[]
  /**
   * `versionKey` of the events that are already journaled: own writes of runs and repeated watch events. They need no
   * row.
   */
  readonly known: ReadonlySet<string>
}

export interface UnansweredWrite {
  /** The object as named in actions. */
  readonly object: string
  /** Workflow ID of the run. */
  readonly writer: string
  /** In milliseconds. */
  readonly begunAt: number
}

export function versionKey({ uid, version }: Pick<ReceivedVersion, 'uid' | 'version'>): string {
  return `${uid} ${version}`
}

/**
 * One statement, so that the known versions are at least as new as the list of held objects.
 *
 * @param since start of the oldest action that still holds its object.
 */
export async function checkReceivedEvents(
  db: Kysely<Database>,
  { cluster, group, kind, objects, versions }: ReceivedEvents,
  since: Date,
): Promise<ReceivedEventsState> {
  if (objects.length === 0) return { held: new Set(), unanswered: [], known: new Set() }
  const uids = [...new Set(versions.map(({ uid }) => uid))]
  const { rows } = await sql<{ open: (UnansweredWrite & { holds: boolean })[]; known: string[] }>`
    select (select coalesce(json_agg(json_build_object('object', object, 'writer', workflow_id, 'holds', started_at > ${since},
                                                       'begunAt', extract(epoch from started_at) * 1000)), '[]')
              from action where finished_at is null and object = any(${objects}::text[])) as open,
           (select coalesce(json_agg(e.uid || ' ' || e.version), '[]')
              from json_to_recordset(${JSON.stringify(versions)}::json) as e(uid text, version bigint, gone boolean)
              join object o on o.cluster = ${cluster} and o.api_group = ${group} and o.kind = ${kind} and o.uid = e.uid
              where o.uid = any(${uids}::text[]) and not o.presumed_deleted
                and case when e.gone then o.deleted
                         else o.resource_version = e.version or (o.resource_version > e.version and exists (
                           select from watch_event w where w.uid = e.uid and w.resource_version = e.version)) end) as known`.execute(
    db,
  )
  const { open = [], known = [] } = rows[0] ?? {}
  const held = new Set(open.filter(({ holds }) => holds).map(({ object }) => object))
  return { held, unanswered: open.filter(({ holds }) => !holds), known: new Set(known) }
}

/** The stored projections of existing objects, by `versionKey`. */
export async function readProjections(
  db: Kysely<Database>,
  { cluster, ...of }: GroupKind & { readonly cluster: string },
  uids: readonly string[],
): Promise<ReadonlyMap<string, Projection>> {
  if (uids.length === 0) return new Map()
  const rows = await livingObjects(db, cluster, of)
    .select(['uid', 'resource_version as version', 'projection'])
    .where('uid', 'in', uids)
    .execute()
  return new Map(rows.map(({ uid, version, projection }) => [versionKey({ uid, version }), projection]))
}
