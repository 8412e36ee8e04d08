// Who of a kind gives a name that another takes, as the journal knows it: by index, however many objects the namespace has.

import { type Kysely, type RawBuilder, sql } from 'kysely'
import type { GroupKind, Projection } from '../../../workflows/kit/index.ts'
import type { Database } from '../database.ts'

/** Where is looked, and for whom: never for itself. */
export interface FlowQuery extends GroupKind {
  readonly cluster: string
  readonly namespace: string
  readonly uid: string
  /** Of the names that are looked for (flow-keys.ts). */
  readonly keys: readonly string[]
}

export interface FlowObject {
  readonly uid: string
  readonly name: string
  readonly version: number
  readonly projection: Projection
}

/** So far a ring is looked for: as many objects as that before one. */
export const MOST_UPSTREAM = 300

/** Those that take any of the names. One statement, none where no name is given. */
export async function takersOf(db: Kysely<Database>, query: FlowQuery): Promise<readonly FlowObject[]> {
  if (query.keys.length === 0) return []
  const { rows } = await sql<FlowObject>`
    select ${COLUMNS} from object o
    where ${isNear(query)} and o.uid <> ${query.uid} and ${has('takes', keysOf(query))} order by o.name`.execute(db)
  return rows
}

/** Those that give any of the names. As `takersOf`. */
export async function giversOf(db: Kysely<Database>, query: FlowQuery): Promise<readonly FlowObject[]> {
  if (query.keys.length === 0) return []
  const { rows } = await sql<FlowObject>`
    select ${COLUMNS} from object o
    where ${isNear(query)} and o.uid <> ${query.uid} and ${has('gives', keysOf(query))} order by o.name`.execute(db)
  return rows
}

/** Those that give any of the names, those that give to these, and so on: the nearest `MOST_UPSTREAM`. As `takersOf`. */
export async function upstreamOf(db: Kysely<Database>, query: FlowQuery): Promise<readonly FlowObject[]> {
  if (query.keys.length === 0) return []
  const taken = sql`array(select jsonb_array_elements_text(t.projection #> '{flow,takes}'))`
  const { rows } = await sql<FlowObject>`
    with recursive up (uid) as (
      select o.uid from object o where ${isNear(query)} and ${has('gives', keysOf(query))}
      union
      select g.uid from up join object t on t.uid = up.uid and t.cluster = ${query.cluster} and t.projection ? 'flow'
      cross join lateral (select o.uid from object o where ${isNear(query)} and ${has('gives', taken)}) g)
    select ${COLUMNS} from (select uid from up limit ${MOST_UPSTREAM}) up join object o on o.uid = up.uid
    where ${isNear(query)} and o.uid <> ${query.uid} order by o.name`.execute(db)
  return rows
}

const COLUMNS = sql`o.uid, o.name, o.resource_version as version, o.projection`

function isNear({ cluster, group, kind, namespace }: FlowQuery): RawBuilder<boolean> {
  return sql`(o.cluster = ${cluster} and o.api_group = ${group} and o.kind = ${kind} and o.namespace = ${namespace} and not o.deleted)`
}

/** As the indexes have it (migrations/0012). */
function has(way: 'gives' | 'takes', keys: RawBuilder<unknown>): RawBuilder<boolean> {
  return sql`(o.projection ? 'flow' and o.projection #> ${sql.lit(`{flow,${way}}`)} ?| ${keys})`
}

function keysOf({ keys }: FlowQuery): RawBuilder<unknown> {
  return sql`${[...keys]}::text[]`
}
