// Routes and watched kinds of a controller in level mode, and the subscriptions of its queries. Pure.
//
//   V1. The target's events start a run, unless the controller's predicate rejects the object before and after the event.
//   V2. An event of a queried or written kind starts a run for the target that is or was its owner: by reference from the target's namespace, or by
//       label
// and annotation where the target can own by label (owners.ts; declared-writes.ts, W4).
//   V3. Other objects of a queried kind wake the runs that subscribed to them (`subscriptionsOf`).
//   V4. The bridge watches no kind that only quiet queries read.

import { isSameKind, type LevelDeclaration, type LevelResource, resourceOf } from './define-level.ts'
import { type GroupKind, groupKindOf, groupKindText } from '../../kind/group-kind.ts'
import { canonicalJson, CONTENT, path, type Path, valueAt } from '../../kind/projection.ts'
import { OWNERSHIP_LABEL_PATHS, labelledOwner, ownerOfKind } from '../owners.ts'
import { uniqueSelections, type QueryData, type Selection } from './query.ts'
import type { ControllerRoutes, Route, RoutedEvent, Routing, WatchedKind } from '../routes.ts'
import { requiredIndexKeys, type IndexKey } from './index-keys.ts'
import { couldOwnByLabel } from './declared-writes.ts'

/** The routes of a controller. */
export function levelRoutes(controller: LevelDeclaration): ControllerRoutes {
  const { name, target } = controller
  const own = groupKindText(groupKindOf(target))
  const states = new Set(stateResources(controller).map((state) => groupKindText(groupKindOf(state))))
  const toItself = (event: RoutedEvent): Route => ({
    controller: name,
    uid: event.uid,
    namespace: event.namespace,
    name: event.name,
    mode: 'start',
    cause: event.type === 'DELETED' ? 'deleted' : causeOf(event),
  })
  const route = (event: RoutedEvent): Routing => {
    const kind = groupKindText(event)
    const isRejected = kind === own && !isAccepted(controller, event)
    const routes = [
      ...(kind === own && !isRejected ? [toItself(event)] : []),
      ...(states.has(kind) ? ownersOf(controller, event) : []),
    ]
    if (routes.length > 0) return { routes }
    return {
      ignored: isRejected ? `predicate of controller ${name}` : `no ${target.kind} of ${name} owns or selects it`,
    }
  }
  return { controller: name, byKind: Object.fromEntries([own, ...states].map((kind) => [kind, route])) }
}

function isAccepted({ predicate }: LevelDeclaration, { projection, previous }: RoutedEvent): boolean {
  return predicate === undefined || predicate(projection) || (previous !== undefined && predicate(previous))
}

/** The kinds that the bridge watches for a controller; every change of their objects counts. */
export function levelKinds(controller: LevelDeclaration): readonly WatchedKind[] {
  const { target } = controller
  const others = stateResources(controller).filter(
    (resource) => !isSameKind(resource, target) && isWatched(controller, resource),
  )
  const paths = (resource: LevelResource) => (isMarked(controller, resource) ? OWNERSHIP_LABEL_PATHS : [])
  return [
    { ...followed(target, target.projection), ...indexKeySourcesOf(controller, target) },
    ...others.map((resource) => ({
      ...followed(resource, paths(resource)),
      ...fieldsOf(controller, resource),
      ...indexKeySourcesOf(controller, resource),
    })),
  ]
}

/** V4 */
export function isWatched({ queries, writes }: LevelDeclaration, { apiVersion, kind }: LevelResource): boolean {
  const name = `${apiVersion}/${kind}`
  const isFollowed = Object.values(queries).some((query) => query.kind === name && query.quiet !== true)
  return isFollowed || writes.some((write) => write.kind === name)
}

/** The fields of the kind that are index keys; none if no query selects by labels or fields. */
function indexKeySourcesOf(
  { queries }: LevelDeclaration,
  { apiVersion, kind }: LevelResource,
): Pick<WatchedKind, 'indexKeys'> {
  const observed = Object.values(queries).filter(
    (query) => query.kind === `${apiVersion}/${kind}` && query.quiet !== true && query.owned === undefined,
  )
  const isSelected = observed.some(
    ({ labels, labelsFrom, fieldsFrom }) => (labels ?? labelsFrom ?? fieldsFrom) !== undefined,
  )
  const fields = [...new Set(observed.flatMap(({ fieldsFrom = {} }) => Object.keys(fieldsFrom)))].sort()
  return isSelected ? { indexKeys: { fields } } : {}
}

/** Q6: the field selector that all queries of the kind share; none if a query needs all objects or the controller writes the kind. */
function fieldsOf({ queries, writes }: LevelDeclaration, { apiVersion, kind }: LevelResource) {
  const named = `${apiVersion}/${kind}`
  const [fields, ...others] = Object.values(queries)
    .filter((query) => query.kind === named)
    .map(({ followed: only }) => only)
  const isWritten = writes.some((write) => write.kind === named)
  return fields === undefined || isWritten || others.some((other) => !isSameFields(fields, other)) ? {} : { fields }
}

type FollowedFields = WatchedKind['fields']

export function isSameFields(one: FollowedFields, other: FollowedFields): boolean {
  return canonicalJson(one ?? {}) === canonicalJson(other ?? {})
}

/** Whether a target can own objects of the kind by label. */
function isMarked({ writes, queries }: LevelDeclaration, { apiVersion, kind, withoutNamespace }: LevelResource) {
  const name = `${apiVersion}/${kind}`
  const written = writes.find((write) => write.kind === name)
  const isObserved = Object.values(queries).some((query) => query.kind === name && query.owned === 'label')
  return isObserved || (written !== undefined && (withoutNamespace === true || written.namespaces.length > 0))
}

function followed(resource: LevelResource, projection: readonly Path[] = []): WatchedKind {
  const { apiVersion, kind, plural, withoutNamespace } = resource
  const scope = withoutNamespace === true ? { withoutNamespace } : {}
  return { apiVersion, kind, plural, ...scope, projection, hashed: [CONTENT] }
}

/** A subscription to one object, or to the objects of a kind in a namespace. */
export interface LevelSubscription extends GroupKind {
  /** `*`: all. */
  readonly namespace: string
  /** `*`: any. */
  readonly name: string
  /** Only objects that have, or had, all of these index keys. The journal's column and its JSON have this name. */
  readonly traits: readonly IndexKey[]
}

/**
 * The subscriptions of a query in addition to the routes; empty where the routes cover all events (V2). A query for an owned object by name also
 * subscribes,
 * because an object without owner is a fault until it is deleted.
 */
export function subscriptionsOf(
  query: QueryData,
  of: GroupKind,
  selections: readonly Selection[],
): readonly LevelSubscription[] {
  const isTooMany = query.fieldsFrom !== undefined && selections.length > MOST_BY_FIELD
  const meant = isTooMany ? withoutFields(selections) : selections
  return meant.flatMap((selection) => subscriptionOf(query, of, selection) ?? [])
}

// Every event of the kind in the namespace checks all of these subscriptions.
const MOST_BY_FIELD = 50

function withoutFields(selections: readonly Selection[]): readonly Selection[] {
  return uniqueSelections(selections.map((one) => ({ ...one, fromFields: {}, fieldSelector: '' })))
}

function subscriptionOf(
  query: QueryData,
  { group, kind }: GroupKind,
  selection: Selection,
): LevelSubscription | undefined {
  const { namespace = '*', name } = selection
  if (name !== undefined) return { group, kind, namespace, name, traits: [] }
  return query.owned === undefined
    ? { group, kind, namespace, name: '*', traits: requiredIndexKeys(selection) }
    : undefined
}

function stateResources(controller: LevelDeclaration): readonly LevelResource[] {
  const named = [...Object.values(controller.queries), ...controller.writes]
  const all = named.map(({ kind }) => resourceOf(controller, kind))
  return all.filter((resource, index) => all.findIndex((one) => isSameKind(one, resource)) === index)
}

function ownersOf({ name: controller, target, writes }: LevelDeclaration, event: RoutedEvent): readonly Route[] {
  const places = [event.projection, event.previous ?? {}].flatMap((projection) => {
    const owner = ownerOfKind(projection, groupKindOf(target))
    const namespace = target.withoutNamespace === true ? '' : event.namespace
    const marked = labelledOwner(projection, target)
    const isMarked = marked !== undefined && couldOwnByLabel(writes, { ...event, targetNamespace: marked.namespace })
    return [
      ...(owner === undefined ? [] : [{ uid: owner.uid, name: owner.name, namespace }]),
      ...(isMarked ? [marked] : []),
    ]
  })
  return places
    .filter(({ uid }, index) => places.findIndex((one) => one.uid === uid) === index)
    .map((place) => ({
      controller,
      ...place,
      mode: 'start',
      // A subscription to the object has the same cause for a change (expand-routes.ts).
      cause: `${event.kind} ${event.name} ${VERBS[event.type]}`,
    }))
}

const VERBS = { ADDED: 'created', MODIFIED: 'changed', DELETED: 'deleted' } as const

function causeOf({ projection, previous }: RoutedEvent): string {
  if (previous === undefined) return 'first seen'
  const deletion = path('metadata.deletionTimestamp')
  return valueAt(projection, deletion) !== undefined && valueAt(previous, deletion) === undefined
    ? 'deletion'
    : 'changed'
}
