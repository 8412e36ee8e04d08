// Producers and consumers of named values among the objects of one kind, stored as keys of fixed length, so that an
// index finds both.
//
//   F1. A key covers the namespace and the name; the same name in another namespace has another key.
//   F2. At most MOST_FLOW_NAMES names of an object are stored, which keeps its row small. Further names cannot be
//       found.

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

/** Adds the keys of the names that the object produces and consumes to its projection. */
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

/** Returns the keys stored in a projection. */
export function flowOfProjection(projection: object): Flow {
  return { gives: keysAt(projection, 'gives'), takes: keysAt(projection, 'takes') }
}

function keysAt(projection: object, way: keyof Flow): readonly string[] {
  const found = valueAt(projection, ['flow', way])
  return Array.isArray(found) ? found.filter((key) => typeof key === 'string') : []
}

/** The namespace to search and the object to exclude. */
export interface FlowQuery extends GroupKind {
  readonly cluster: string
  readonly namespace: string
  readonly uid: string
  /** Keys of the names to search (F1). */
  readonly keys: readonly string[]
}

export interface FlowObject {
  readonly uid: string
  readonly name: string
  readonly version: number
  readonly projection: Projection
}

/** The search for a cycle follows at most this many producers. */
export const MOST_UPSTREAM_PRODUCERS = 300

/** Objects that consume any of the names. Sends one statement, or none without names. */
export async function consumersOf(db: Kysely<Database>, query: FlowQuery): Promise<readonly FlowObject[]> {
  if (query.keys.length === 0) return []
  const { rows } = await sql<FlowObject>`
    select ${COLUMNS} from object o
    where ${isInNamespace(query)} and o.uid <> ${query.uid} and ${hasAnyKey('takes', keysOf(query))} order by o.name`.execute(
    db,
  )
  return rows
}

/** Objects that produce any of the names. Sends one statement, or none without names. */
export async function producersOf(db: Kysely<Database>, query: FlowQuery): Promise<readonly FlowObject[]> {
  if (query.keys.length === 0) return []
  const { rows } = await sql<FlowObject>`
    select ${COLUMNS} from object o
    where ${isInNamespace(query)} and o.uid <> ${query.uid} and ${hasAnyKey('gives', keysOf(query))} order by o.name`.execute(
    db,
  )
  return rows
}

/**
 * Objects that produce any of the names, the producers of these objects, and so on: the nearest
 * `MOST_UPSTREAM_PRODUCERS`. Sends one statement, or none without names.
 */
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

/** Matches the expressions of the indexes (migrations/0012). */
function hasAnyKey(way: 'gives' | 'takes', keys: RawBuilder<unknown>): RawBuilder<boolean> {
  return sql`(o.projection ? 'flow' and o.projection #> ${sql.lit(`{flow,${way}}`)} ?| ${keys})`
}

function keysOf({ keys }: FlowQuery): RawBuilder<unknown> {
  return sql`${[...keys]}::text[]`
}
