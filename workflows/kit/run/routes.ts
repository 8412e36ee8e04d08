// Which events concern which subjects. Pure: the bridge and every journaled write ask the same functions.
// Source: docs/architecture.md "Subjects and routes".

import type { Flow } from '../kind/flow.ts'
import { type GroupKind, groupKindText } from '../kind/group-kind.ts'
import { isIdle, jobIDProblem } from './subject.ts'
import { path, type Path, type Projection, textAt } from '../kind/projection.ts'
import type { IndexKeySources } from './level/index-keys.ts'

/** A kind that the bridge watches, and what of its objects may enter the journal. */
export interface WatchedKind {
  /** Group and version as in manifests, e.g. `apps/v1`, or `v1`. */
  readonly apiVersion: string
  readonly kind: string
  readonly plural: string
  /** Paths kept in projections, beside the metadata that every projection has (see `projectObject`). */
  readonly projection: readonly Path[]
  /** Paths whose content is remembered as one keyed hash only; empty when the kind needs none. */
  readonly hashed: readonly Path[]
  /** As in `KindDefinition`. */
  readonly flow?: (object: object) => Flow | undefined
  /** Projections have their traits (traits.ts). */
  readonly indexKeys?: IndexKeySources
  /** Only objects with these fields are followed, by which the API server can select (`StateQuery.followed`); absent: all. */
  readonly fields?: Readonly<Record<string, string>>
  /** Its objects are in no namespace. */
  readonly withoutNamespace?: boolean
  /** The bridge does not follow the kind: nobody would see it deleted, so own writes leave an event and no known state. */
  readonly unfollowed?: true
}

export interface RoutedEvent extends GroupKind {
  readonly uid: string
  readonly namespace: string
  readonly name: string
  readonly resourceVersion: number
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'
  readonly projection: Projection
  /** The projection before this event; undefined for an object not known before. */
  readonly previous: Projection | undefined
}

export interface Route {
  /** The controller to wake: `installation`, `execution`, `deploy`, ... */
  readonly controller: string
  /** The subject: one object, or, with `dependentsOf`, every known object of the controller's kind that this uid owns. */
  readonly uid: string
  readonly dependentsOf?: string
  readonly namespace: string
  readonly name: string
  /** `start`: may start a run. `notify`: wakes an open run and is dropped when there is none. */
  readonly mode: 'start' | 'notify'
  /** Why, for people: `kubectl get`-able words such as `reconcile annotation`. */
  readonly cause: string
}

export type Routing = { readonly routes: readonly Route[] } | { readonly ignored: string }

/** The routes of one controller, by the group and kind of the event (`groupKindText`). */
export interface ControllerRoutes {
  readonly controller: string
  readonly byKind: Readonly<Record<string, (event: RoutedEvent) => Routing>>
}

/** Asks every controller; an event nobody wants keeps the reasons, so that the journal can say why nothing happened. */
export function routeEvent(controllers: readonly ControllerRoutes[], event: RoutedEvent): Routing {
  const answers = controllers.flatMap(({ byKind }) => byKind[groupKindText(event)]?.(event) ?? [])
  const routes = answers.flatMap((answer) => ('routes' in answer ? answer.routes : []))
  if (routes.length > 0) return { routes }
  const reasons = answers.flatMap((answer) => ('ignored' in answer ? [answer.ignored] : []))
  return { ignored: reasons.length > 0 ? [...new Set(reasons)].join('; ') : 'no controller watches this kind' }
}

/** The job IDs of an object or projection, for `isIdle`. */
export function jobIDsOf(object: object): {
  readonly jobID: string | undefined
  readonly jobIDFinished: string | undefined
} {
  return { jobID: textAt(object, path('status.jobID')), jobIDFinished: textAt(object, path('status.jobIDFinished')) }
}

/** The job of an object that was running has made room for another, or for none: somebody who is not its owner took it away. */
export function isJobReplaced({ projection, previous }: RoutedEvent): boolean {
  const before = previous === undefined ? undefined : jobIDsOf(previous)
  return before !== undefined && !isIdle(before) && before.jobID !== jobIDsOf(projection).jobID
}

/** `status.jobID` has become a text that is no job ID: whoever wrote it is told, which the dispatcher does. */
export function isJobIDInvalid({ projection, previous }: RoutedEvent): boolean {
  const { jobID } = jobIDsOf(projection)
  return jobIDProblem(jobID) !== undefined && jobID !== (previous && jobIDsOf(previous).jobID)
}

/** The cause of a wake that is for that. */
export const INVALID_JOB_ID = 'status.jobID is not a job ID'
