// SQL statements of one journaled batch. Each statement takes all rows as one JSON parameter, so a batch of any size
// takes six round trips.

import { sql, type Transaction } from 'kysely'
import { type GroupKind, groupKindText, writeJson } from '../../../workflows/kit/index.ts'
import type { Database } from '../database.ts'
import type { ObjectState } from './classify.ts'
import type { EventType } from './incoming-events.ts'

export interface EventRow {
  readonly seq: number
  readonly api_group: string
  readonly kind: string
  readonly uid: string
  readonly namespace: string
  readonly name: string
  readonly resource_version: number
  readonly type: EventType
  readonly projection: object
  readonly outcome: 'wake' | 'ignored' | 'stale'
  readonly reason: string
  readonly source: EventSource
  /** Workflow ID of the run that wrote this version. */
  readonly writer: string | null
  /** Field manager of a version without `writer`. */
  readonly manager: string | null
}

export type EventSource = 'watch' | 'relist' | 'write'

/**
 * Key of an object. It contains the kind, because the API server may serve one uid under two kinds (Events of the core
 * group and of `events.k8s.io`).
 */
export function objectKey({ group, kind, uid }: GroupKind & { readonly uid: string }): string {
  return `${groupKindText({ group, kind })} ${uid}`
}

type ObjectRow = Omit<ObjectState, 'ownerUid' | 'hash'> & {
  readonly ownerUid: string | null
  readonly hash: string | null
}

/**
 * Draws `count` sequence numbers and locks the objects' rows in the order of their uids, so that batches cannot
 * deadlock.
 */
export async function lockObjects(
  trx: Transaction<Database>,
  cluster: string,
  uids: readonly string[],
  count: number,
): Promise<{ seqs: number[]; known: ObjectState[] }> {
  const { rows } = await sql<{ seqs: number[]; known: ObjectRow[] }>`
    select (select json_agg(nextval('watch_event_seq')) from generate_series(1, ${count}::int)) as seqs,
           (select coalesce(json_agg(o), '[]') from (
              select api_group as "group", kind, uid, namespace, name, owner_uid as "ownerUid", resource_version as "resourceVersion", projection,
                     hash, deleted, presumed_deleted as "presumedDeleted"
              from object where cluster = ${cluster} and uid = any(${uids}::text[])
              order by uid, api_group, kind for update) o) as known`.execute(trx)
  const [row] = rows
  if (row === undefined) throw new Error('journal: the query for sequence numbers returned no row')
  return {
    seqs: row.seqs,
    known: row.known.map((known) => ({
      ...known,
      ownerUid: known.ownerUid ?? undefined,
      hash: known.hash ?? undefined,
    })),
  }
}

/** Returns the versions that the journal contains, as `uid version`. */
export async function journaledVersions(
  trx: Transaction<Database>,
  versions: readonly { readonly uid: string; readonly resourceVersion: number }[],
): Promise<Set<string>> {
  if (versions.length === 0) return new Set()
  const { rows } = await sql<{ version: string }>`
    select distinct e.uid || ' ' || e.resource_version as version
    from json_to_recordset(${writeJson(versions)}::json) as v(uid text, "resourceVersion" bigint)
    join watch_event e on e.uid = v.uid and e.resource_version = v."resourceVersion"`.execute(trx)
  return new Set(rows.map(({ version }) => version))
}

/**
 * Stores the states; returns the stored objects (`objectKey`). A missing object was journaled by another transaction
 * with this version or a newer one. For equal versions a deletion takes precedence (classify.ts, C4).
 */
export async function upsertObjects(
  trx: Transaction<Database>,
  cluster: string,
  states: readonly (ObjectState & { readonly seq: number })[],
  now: Date,
): Promise<Set<string>> {
  if (states.length === 0) return new Set()
  const { rows } = await sql<GroupKind & { uid: string }>`
    insert into object (cluster, api_group, kind, uid, namespace, name, owner_uid, resource_version, seq, projection, hash, deleted,
                        presumed_deleted, updated_at)
    select ${cluster}, s."group", s.kind, s.uid, s.namespace, s.name, s."ownerUid", s."resourceVersion", s.seq, s.projection, s.hash,
           s.deleted, s."presumedDeleted", ${now}
    from (select * from json_to_recordset(${writeJson(states)}::json) as r(
      "group" text, kind text, uid text, namespace text, name text, "ownerUid" text, "resourceVersion" bigint, seq bigint,
      projection jsonb, hash text, deleted boolean, "presumedDeleted" boolean) order by r.uid, r."group", r.kind) s
    on conflict (cluster, api_group, kind, uid) do update set
      namespace = excluded.namespace, name = excluded.name, owner_uid = excluded.owner_uid,
      resource_version = excluded.resource_version, seq = excluded.seq, projection = excluded.projection,
      hash = excluded.hash, deleted = excluded.deleted, presumed_deleted = excluded.presumed_deleted,
      updated_at = excluded.updated_at
    where excluded.resource_version > object.resource_version
       or (excluded.resource_version = object.resource_version
           and (case when excluded.deleted = object.deleted then excluded.projection <> object.projection
                     else excluded.deleted or object.presumed_deleted end))
    returning api_group as "group", kind, uid`.execute(trx)
  return new Set(rows.map(objectKey))
}

export async function insertEvents(
  trx: Transaction<Database>,
  cluster: string,
  events: readonly EventRow[],
  now: Date,
): Promise<void> {
  if (events.length === 0) return
  await sql`
    insert into watch_event (seq, at, cluster, api_group, kind, uid, namespace, name, resource_version, type, source, writer, manager,
                             projection, outcome, reason)
    select e.seq, ${now}, ${cluster}, e.api_group, e.kind, e.uid, e.namespace, e.name, e.resource_version, e.type, e.source, e.writer, e.manager,
           e.projection, e.outcome, e.reason
    from json_to_recordset(${writeJson(events)}::json) as e(
      seq bigint, api_group text, kind text, uid text, namespace text, name text, resource_version bigint, type text, projection jsonb,
      outcome text, reason text, source text, writer text, manager text)`.execute(trx)
}
