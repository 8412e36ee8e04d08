// Routes: which objects an event concerns. Pure; the bridge and every journaled write call the same functions.
// Source: docs/concepts/architecture.md "Subjects and routes".

import type { Flow } from '../kind/kind.ts'
import { type GroupKind, groupKindText } from '../kind/group-kind.ts'
import { isIdle, jobIDProblem } from './subject.ts'
import { type Path, path, type Projection, textAt } from '../kind/projection.ts'
import type { IndexKeySources } from './level/index-keys.ts'

/** A kind that the engine reads or writes, and the fields of its objects that the journal stores. The bridge watches it unless `unfollowed`. */
export interface WatchedKind {
  /** Group and version as in manifests, e.g. `apps/v1`, or `v1`. */
  readonly apiVersion: string
  readonly kind: string
  readonly plural: string
  /** Projected paths, in addition to the metadata of every projection (see `projectObject`). */
  readonly projection: readonly Path[]
  /** Paths that the journal stores as one keyed hash only; may be empty. */
  readonly hashed: readonly Path[]
  /** The names that an object exports and imports (`KindDefinition.flow`). */
  readonly flow?: (object: object) => Flow | undefined
  /** The projection includes index keys from these fields (index-keys.ts). */
  readonly indexKeys?: IndexKeySources
  /** Field selector of the watch (`StateQuery.followed`); absent: all objects. */
  readonly fields?: Readonly<Record<string, string>>
  /** The kind is cluster-scoped. */
  readonly withoutNamespace?: boolean
  /**
   * The bridge does not watch the kind. The journal would miss deletions, so it stores the engine's writes as events, but
   * not the state of the objects.
   */
  readonly unfollowed?: true
}

export interface RoutedEvent extends GroupKind {
  readonly uid: string
  readonly namespace: string
  readonly name: string
  readonly resourceVersion: number
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'
  readonly projection: Projection
  /** The projection before this event; undefined for an unknown object. */
  readonly previous: Projection | undefined
}

export interface Route {
  /** The controller to wake: `installation`, `execution`, `deploy`, ... */
  readonly controller: string
  /** The object to wake; empty with `dependentsOf`. */
  readonly uid: string
  /** The uid of an owner: wakes every known object of the controller's kind that it owns. */
  readonly dependentsOf?: string
  readonly namespace: string
  readonly name: string
  /** `start` may start a run. `notify` wakes an open run only. */
  readonly mode: 'start' | 'notify'
  /** The reason, for users, such as `reconcile annotation`. */
  readonly cause: string
}

export type Routing = { readonly routes: readonly Route[] } | { readonly ignored: string }

/** The routes of one controller by group and kind of the event (`groupKindText`). */
export interface ControllerRoutes {
  readonly controller: string
  readonly byKind: Readonly<Record<string, (event: RoutedEvent) => Routing>>
}

/** Calls the routes of every controller. Without a match it returns the reasons, so that the journal can show why nothing happened. */
export function routeEvent(controllers: readonly ControllerRoutes[], event: RoutedEvent): Routing {
  const routings = controllers.flatMap(({ byKind }) => byKind[groupKindText(event)]?.(event) ?? [])
  const routes = routings.flatMap((routing) => ('routes' in routing ? routing.routes : []))
  if (routes.length > 0) return { routes }
  const reasons = routings.flatMap((routing) => ('ignored' in routing ? [routing.ignored] : []))
  return { ignored: reasons.length > 0 ? [...new Set(reasons)].join('; ') : 'no controller watches this kind' }
}

/** The job IDs of an object or projection, for `isIdle`. */
export function jobIDsOf(object: object): {
  readonly jobID: string | undefined
  readonly jobIDFinished: string | undefined
} {
  return { jobID: textAt(object, path('status.jobID')), jobIDFinished: textAt(object, path('status.jobIDFinished')) }
}

/** Whether a user or another controller has replaced or removed the job ID of an unfinished job. */
export function isJobReplaced({ projection, previous }: RoutedEvent): boolean {
  const before = previous === undefined ? undefined : jobIDsOf(previous)
  return before !== undefined && !isIdle(before) && before.jobID !== jobIDsOf(projection).jobID
}

/** Whether `status.jobID` has changed to an invalid job ID. The dispatcher reports it on the object. */
export function isJobIDInvalid({ projection, previous }: RoutedEvent): boolean {
  const { jobID } = jobIDsOf(projection)
  return jobIDProblem(jobID) !== undefined && jobID !== (previous && jobIDsOf(previous).jobID)
}

/** The `cause` of a route for `isJobIDInvalid`. */
export const INVALID_JOB_ID = 'status.jobID is invalid'
