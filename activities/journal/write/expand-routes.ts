// Expands routes to subjects: looks up dependents of owners and subscribers, and makes one wake for each subject.
//
//   X1. Any user may write owner references. So a route from one object to another is valid only if the other object
//       has the kind, namespace and name of the route, and a dependent only by the rule of kit/run/owners.ts. For an
//       object without a row this cannot be checked: its wake leads to an observation that finds nothing.

import { sql, type Transaction } from 'kysely'
import {
  type GroupKind,
  isPartitionHandled,
  isSameGroupKind,
  partitionOf,
  type Partitions,
  mayMatch,
  type Route,
  type ObjectIndexKeys,
} from '../../../workflows/kit/index.ts'
import { isChildRow } from '../conditions.ts'
import type { ObjectState } from './classify.ts'
import type { Database } from '../database.ts'
import type { NewWake } from './wakes.ts'

/** A changed object with the routes of its controllers. */
export interface RoutedChange {
  readonly state: ObjectState
  readonly seq: number
  readonly routes: readonly Route[]
  /** Another writer than the run `writer` may have caused it. */
  readonly foreign: boolean
  readonly writer: string | undefined
  /** As in `AnsweredWrites`. */
  readonly tree: readonly string[]
  /** Undefined: unknown, so the object may have any index key. */
  readonly traits: ObjectIndexKeys | undefined
}

interface Dependent extends GroupKind {
  readonly owner: string
  readonly uid: string
  readonly namespace: string
  readonly name: string
}

/** An object that a route names. */
type AddressedObject = Omit<Dependent, 'owner'>

interface Subscriber extends GroupKind {
  /** `*`: all. */
  readonly namespace: string
  /** `*`: any. */
  readonly name: string
  readonly traits: readonly string[]
  /** The controller is in level mode: its run may have ended and is started again for this subscription. */
  readonly isLevel: boolean
  readonly controller: string
  readonly uid: string
  readonly subjectName: string
  /** Null: the journal has no row of the subject. */
  readonly subjectNamespace: string | null
}

export interface Expansion {
  readonly cluster: string
  /** The kind of each controller's subjects; a controller without an entry accepts dependents of every kind. */
  readonly subjectKinds: Readonly<Record<string, GroupKind>>
  readonly lanes?: Readonly<Record<string, Partitions>> | undefined
  /** As in `SubjectRules`. */
  readonly hosts?: Readonly<Record<string, readonly string[]>> | undefined
  readonly now: Date
}

/** The writing run, from its row. */
export interface WriterRun {
  readonly controller: string
  readonly uid: string
  readonly jobID: string
  readonly isOpen: boolean
  /** Null: all partitions. */
  readonly serves: readonly string[] | null
}

export interface ExpandedRoutes {
  /** The wakes of each change, in order; an empty list if routes found no subject. */
  readonly wakes: readonly (readonly NewWake[])[]
  /** The writing runs by workflow ID; a run without a row is missing. */
  readonly writers: Writers
}

type Writers = ReadonlyMap<string, WriterRun>

/** Sends one query, or none without changes. */
export async function expandRoutes(
  trx: Transaction<Database>,
  news: readonly RoutedChange[],
  expansion: Expansion,
): Promise<ExpandedRoutes> {
  if (news.length === 0) return { wakes: [], writers: new Map() }
  const { dependents, addressed, subscribers, writers } = await readRouteTargets(trx, expansion.cluster, news)
  const wakes = news.map((item) => {
    const context = { item, run: item.foreign ? undefined : writers.get(item.writer ?? ''), expansion }
    return [
      ...item.routes
        .filter((route) => isValidRoute(route, item, addressed, expansion))
        .flatMap((route) => subjectsOf(route, dependents, expansion).map((at) => wakeOf(context, at, route))),
      ...subscribers
        .filter((subscriber) => isMeant(item, subscriber))
        .map((subscriber) => subscriberWake(context, subscriber)),
    ]
  })
  return { wakes, writers }
}

async function readRouteTargets(
  trx: Transaction<Database>,
  cluster: string,
  news: readonly RoutedChange[],
): Promise<RouteTargets> {
  const owners = news.flatMap(({ routes }) => routes.flatMap(({ dependentsOf }) => dependentsOf ?? []))
  const others = news.flatMap(({ state, routes }) => routes.flatMap(({ uid }) => (uid === state.uid ? [] : [uid])))
  const writers = [...new Set(news.flatMap(({ writer, foreign }) => (writer === undefined || foreign ? [] : [writer])))]
  const names = news.map(({ state: { group, kind, namespace, name }, traits }) => {
    return { group, kind, namespace, name, has: traits?.has ?? null, fields: traits?.fields ?? [] }
  })
  const { rows } = await sql<Omit<RouteTargets, 'writers'> & { writers: [string, WriterRun][] }>`
    select (select coalesce(json_agg(d), '[]') from (
              select d.owner_uid as owner, d.api_group as "group", d.kind, d.uid, d.namespace, d.name
              from object o join object d on ${isChildRow('d', 'o')}
              where o.cluster = ${cluster} and o.uid = any(${owners}::text[]) and not d.deleted) d) as dependents,
           (select coalesce(json_agg(a), '[]') from (
              select api_group as "group", kind, uid, namespace, name from object
              where cluster = ${cluster} and uid = any(${[...new Set(others)]}::text[])) a) as addressed,
           (select coalesce(json_agg(s), '[]') from (
              select distinct s.api_group as "group", s.kind, s.namespace, s.name, s.traits, s.controller, s.uid, s.job_id = '' as "isLevel",
                     coalesce(o.name, '') as "subjectName", o.namespace as "subjectNamespace"
              from json_to_recordset(${JSON.stringify(names)}::json) as n("group" text, kind text, namespace text, name text, has text[], fields text[])
              join subscription s on s.cluster = ${cluster} and s.api_group = n."group" and s.kind = n.kind
                and s.namespace in (n.namespace, '*') and s.name in (n.name, '*') 
                and (n.has is null or s.traits <@ n.has or not exists (
                  select from unnest(s.traits) as demanded(trait) where trait <> all(n.has)
                    and (trait not like '.%' or split_part(trait, '=', 1) = any(n.fields))))
              left join object o on o.uid = s.uid and o.cluster = s.cluster) s) as subscribers,
           (select coalesce(json_agg(json_build_array(workflow_id, json_build_object(
                     'controller', controller, 'uid', uid, 'jobID', job_id, 'isOpen', outcome is null,
                     'serves', serves))), '[]') from job
              where workflow_id = any(${writers}::text[])) as writers`.execute(trx)
  const { dependents = [], addressed = [], subscribers = [], writers: known = [] } = rows[0] ?? {}
  return { dependents, addressed, subscribers, writers: new Map(known) }
}

interface RouteTargets {
  readonly dependents: readonly Dependent[]
  readonly addressed: readonly AddressedObject[]
  readonly subscribers: readonly Subscriber[]
  readonly writers: Writers
}

/** X1 */
function isValidRoute(
  { uid, namespace, name, controller, dependentsOf }: Route,
  { state }: RoutedChange,
  addressed: readonly AddressedObject[],
  { subjectKinds }: Expansion,
): boolean {
  if (dependentsOf !== undefined || uid === state.uid) return true
  const found = addressed.filter((one) => one.uid === uid)
  const kind = subjectKinds[controller]
  const matchesSubscription = (one: AddressedObject) =>
    one.namespace === namespace && one.name === name && (kind === undefined || isSameGroupKind(one, kind))
  return found.length === 0 || found.some(matchesSubscription)
}

type SubjectRef = Pick<Route, 'uid' | 'namespace' | 'name'>

function subjectsOf(
  route: Route,
  dependents: readonly Dependent[],
  { subjectKinds }: Expansion,
): readonly SubjectRef[] {
  if (route.dependentsOf === undefined) return [route]
  const kind = subjectKinds[route.controller]
  return dependents.filter(
    (found) => found.owner === route.dependentsOf && (kind === undefined || isSameGroupKind(found, kind)),
  )
}

interface WakeContext {
  readonly item: RoutedChange
  /** The writing run; undefined: another writer, or a run without a row. */
  readonly run: WriterRun | undefined
  readonly expansion: Expansion
}

function wakeOf(context: WakeContext, at: SubjectRef, route: Route): NewWake {
  const { seq, writer } = context.item
  const { cluster, now } = context.expansion
  const own = isOwnEvent(context, at, route)
  return {
    controller: route.controller,
    uid: at.uid,
    job_id: '',
    cluster,
    namespace: at.namespace,
    name: at.name,
    seq,
    due: now,
    foreign_event: !own,
    may_start: route.mode === 'start',
    writer: own ? (writer ?? null) : null,
    cause: route.cause,
  }
}

/**
 * Whether the change was made by the subject's own run. A run that writes before its row exists may be it: the wake
 * keeps the writer, and the process that delivers the wake compares them (docs/concepts/architecture.md "Own writes"). A child
 * has its own run if its partition is not handled by the writing run, or if the writing run's controller never hosts
 * it.
 */
function isOwnEvent({ item, run, expansion }: WakeContext, at: SubjectRef, { controller }: Route): boolean {
  const { foreign, tree, state } = item
  if (foreign || run === undefined) return !foreign
  if (run.controller === controller && run.uid === at.uid) return true
  if (!mayHost(expansion, run, controller)) return false
  const isOfObject = at.uid === state.uid
  const lane = isOfObject ? partitionOf(expansion.lanes?.[controller], state.projection) : undefined
  const isInTree = tree.includes(at.uid) || (isOfObject && tree.includes(state.ownerUid ?? ''))
  return isInTree && isPartitionHandled(run.serves, lane)
}

function mayHost({ hosts }: Expansion, run: WriterRun, controller: string): boolean {
  return hosts === undefined || hosts[controller]?.includes(run.controller) === true
}

function subscriberWake(context: WakeContext, subscriber: Subscriber): NewWake {
  const { kind, controller, uid, subjectName, subjectNamespace, isLevel } = subscriber
  const { name } = context.item.state
  // In level mode the changed object may be in another namespace; the wake counts for the subject's namespace.
  const namespace = subjectNamespace ?? context.item.state.namespace
  const cause = isLevel ? `${kind} ${name} changed` : `waits for ${kind} ${name}`
  const route: Route = { controller, uid, namespace, name: subjectName, mode: isLevel ? 'start' : 'notify', cause }
  return wakeOf(context, route, route)
}

function isMeant({ state, traits }: RoutedChange, wanted: Subscriber): boolean {
  return (
    isSameGroupKind(state, wanted) &&
    [state.namespace, '*'].includes(wanted.namespace) &&
    [state.name, '*'].includes(wanted.name) &&
    mayMatch(traits, wanted.traits)
  )
}
