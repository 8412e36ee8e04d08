// What the bridge asks of the journal about events that have just arrived: which wait, and which it knows.

import { type Kysely, sql } from 'kysely'
import type { GroupKind } from '../../../workflows/kit/index.ts'
import type { Database } from '../database.ts'

/** Events of one kind that have arrived. */
export interface Arrivals extends GroupKind {
  readonly cluster: string
  /** The objects, as actions name them (`objectText`). */
  readonly objects: readonly string[]
  readonly versions: readonly ArrivedVersion[]
}

export interface ArrivedVersion {
  readonly uid: string
  readonly version: number
  /** The object is gone. */
  readonly gone: boolean
}

export interface ArrivalsAnswer {
  /** Those of the objects whose events must wait for the answer of a write (actions.ts, A2). */
  readonly held: ReadonlySet<string>
  /**
   * `versionKey` of those that say nothing new: echoes of what runs have written, and what the watch repeats. They need no row.
   */
  readonly known: ReadonlySet<string>
}

export function versionKey({ uid, version }: Pick<ArrivedVersion, 'uid' | 'version'>): string {
  return `${uid} ${version}`
}

/** One statement, so that what is known of an object is at least as new as that it is not held. @param since of the oldest action that still holds. */
export async function askArrivals(
  db: Kysely<Database>,
  { cluster, group, kind, objects, versions }: Arrivals,
  since: Date,
): Promise<ArrivalsAnswer> {
  if (objects.length === 0) return { held: new Set(), known: new Set() }
  const uids = [...new Set(versions.map(({ uid }) => uid))]
  const { rows } = await sql<{ held: string[]; known: string[] }>`
    select (select coalesce(json_agg(distinct object), '[]') from action
              where finished_at is null and started_at > ${since} and object = any(${objects}::text[])) as held,
           (select coalesce(json_agg(e.uid || ' ' || e.version), '[]')
              from json_to_recordset(${JSON.stringify(versions)}::json) as e(uid text, version bigint, gone boolean)
              join object o on o.cluster = ${cluster} and o.api_group = ${group} and o.kind = ${kind} and o.uid = e.uid
              where o.uid = any(${uids}::text[]) and not o.presumed_deleted
                and case when e.gone then o.deleted
                         else o.resource_version = e.version or (o.resource_version > e.version and exists (
                           select from watch_event w where w.uid = e.uid and w.resource_version = e.version)) end) as known`.execute(
    db,
  )
  const { held = [], known = [] } = rows[0] ?? {}
  return { held: new Set(held), known: new Set(known) }
}
