// What objects of one kind hand to each other, as the journal keeps it: keys of a fixed length, so that an index finds who gives and who takes.
//
//   F1. A key is of a name in a namespace: the same name elsewhere is another key, and is found by nobody here.
//   F2. So many names an object may have as keep its row small; those beyond are nobody's to find.

import { createHash } from 'node:crypto'
import { type Flow, type Projection, valueAt, type WatchedKind, type GroupKind } from '../../workflows/kit/index.ts'
import { type Kysely, type RawBuilder, sql } from 'kysely'
import type { Database } from './database.ts'

/** F2 */
export const MOST_FLOW_NAMES = 1000

const KEY_LENGTH = 16

/** F1 */
export function flowKey(namespace: string, name: string): string {
  return createHash('sha256').update(`${namespace} ${name}`).digest('base64url').slice(0, KEY_LENGTH)
}

/** The keys of names, each once. */
export function flowKeys(namespace: string, names: readonly string[]): readonly string[] {
  return [...new Set(names)].slice(0, MOST_FLOW_NAMES).map((name) => flowKey(namespace, name))
}

/** The projection with the keys of what the object gives and takes, if it does. */
export function withFlow(
  projection: Projection,
  { flow }: WatchedKind,
  object: { readonly metadata: { readonly namespace?: string | undefined } },
): Projection {
  const found = flow?.(object)
  if (found === undefined || found.gives.length + found.takes.length === 0) return projection
  const { namespace = '' } = object.metadata
  return { ...projection, flow: { gives: flowKeys(namespace, found.gives), takes: flowKeys(namespace, found.takes) } }
}

/** The keys that a projection has. */
export function flowOfProjection(projection: object): Flow {
  return { gives: keysAt(projection, 'gives'), takes: keysAt(projection, 'takes') }
}

function keysAt(projection: object, way: keyof Flow): readonly string[] {
  const found = valueAt(projection, ['flow', way])
  return Array.isArray(found) ? found.filter((key) => typeof key === 'string') : []
}

// Who of a kind gives a name that another takes, as the journal knows it: by index, however many objects the namespace has.

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
export const MOST_UPSTREAM_PRODUCERS = 300

/** Those that take any of the names. One statement, none where no name is given. */
export async function consumersOf(db: Kysely<Database>, query: FlowQuery): Promise<readonly FlowObject[]> {
  if (query.keys.length === 0) return []
  const { rows } = await sql<FlowObject>`
    select ${COLUMNS} from object o
    where ${isInNamespace(query)} and o.uid <> ${query.uid} and ${hasAnyKey('takes', keysOf(query))} order by o.name`.execute(
    db,
  )
  return rows
}

/** Those that give any of the names. As `takersOf`. */
export async function producersOf(db: Kysely<Database>, query: FlowQuery): Promise<readonly FlowObject[]> {
  if (query.keys.length === 0) return []
  const { rows } = await sql<FlowObject>`
    select ${COLUMNS} from object o
    where ${isInNamespace(query)} and o.uid <> ${query.uid} and ${hasAnyKey('gives', keysOf(query))} order by o.name`.execute(
    db,
  )
  return rows
}

/** Those that give any of the names, those that give to these, and so on: the nearest `MOST_UPSTREAM`. As `takersOf`. */
export async function upstreamProducersOf(db: Kysely<Database>, query: FlowQuery): Promise<readonly FlowObject[]> {
  if (query.keys.length === 0) return []
  const taken = sql`array(select jsonb_array_elements_text(t.projection #> '{flow,takes}'))`
  const { rows } = await sql<FlowObject>`
    with recursive up (uid) as (
      select o.uid from object o where ${isInNamespace(query)} and ${hasAnyKey('gives', keysOf(query))}
      union
      select g.uid from up join object t on t.uid = up.uid and t.cluster = ${query.cluster} and t.projection ? 'flow'
      cross join lateral (select o.uid from object o where ${isInNamespace(query)} and ${hasAnyKey('gives', taken)}) g)
    select ${COLUMNS} from (select uid from up limit ${MOST_UPSTREAM_PRODUCERS}) up join object o on o.uid = up.uid
    where ${isInNamespace(query)} and o.uid <> ${query.uid} order by o.name`.execute(db)
  return rows
}

const COLUMNS = sql`o.uid, o.name, o.resource_version as version, o.projection`

function isInNamespace({ cluster, group, kind, namespace }: FlowQuery): RawBuilder<boolean> {
  return sql`(o.cluster = ${cluster} and o.api_group = ${group} and o.kind = ${kind} and o.namespace = ${namespace} and not o.deleted)`
}

/** As the indexes have it (migrations/0012). */
function hasAnyKey(way: 'gives' | 'takes', keys: RawBuilder<unknown>): RawBuilder<boolean> {
  return sql`(o.projection ? 'flow' and o.projection #> ${sql.lit(`{flow,${way}}`)} ?| ${keys})`
}

function keysOf({ keys }: FlowQuery): RawBuilder<unknown> {
  return sql`${[...keys]}::text[]`
}
