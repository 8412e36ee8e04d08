// Reads the children of a subject in job mode, by the queries that the controller declares.
//
//   O1. The query is filled from the subject alone, before the first read (workflows/kit/run/job/job-query.ts defines the allowed queries).
//   O2. If the query cannot select anything, for example because a name is too long for a label, the subject has no children.

import { type By, selectionOf, type StateQuery, type Subject, type WatchedKind } from '../../workflows/kit/index.ts'
import type { Deps } from '../deps.ts'
import type { KubeObject } from '../kube/client.ts'
import {
  type Children,
  deletedSince,
  isChangedSince,
  type KnownVersions,
  recordObservation,
} from '../kube/read-family.ts'
import { jobController } from './controllers.ts'

export interface ChildrenRequest<Child extends WatchedKind> {
  readonly by: By
  /** The parent. */
  readonly subject: Omit<Subject, 'group' | 'kind'>
  /** Name of the declared state. */
  readonly state: string
  /** Kind of the children. */
  readonly watched: Child
  /** Newest version of a child that the run has written or read, 0 for none. */
  readonly ownVersion?: number
}

/** Returns how to read the children that the controller declares as a state. @throws a plain Error (a bug) when it declares no such state. */
export function declaredChildren<Child extends WatchedKind>(
  deps: Pick<Deps, 'controllers'>,
  { by, subject, state, watched, ownVersion = 0 }: ChildrenRequest<Child>,
): Children<Child> {
  const { name, queries } = jobController(deps, by)
  const query = Object.hasOwn(queries, state) ? queries[state] : undefined
  if (query === undefined)
    throw new Error(
      `controller ${name}: unknown state "${state}"; expected one of ${Object.keys(queries).join(', ') || 'none'}`,
    )
  return { ...childrenOf(query, watched, subject, ownVersion), pass: by }
}

/** Returns how to read the children that a query selects. @throws a plain Error (a bug) when the query is for another kind. */
export function childrenOf<Child extends WatchedKind>(
  query: StateQuery,
  watched: Child,
  { uid, namespace, name }: Omit<Subject, 'group' | 'kind'>,
  ownVersion: number,
): Children<Child> {
  const kind = `${watched.apiVersion}/${watched.kind}`
  if (query.kind !== kind) throw new Error(`found an object of kind ${kind}; expected kind ${query.kind} of the query`)
  const selection = selectionOf(query, { metadata: { uid, namespace, name } })
  if (selection === undefined) return { watched, by: undefined, ownVersion }
  const { name: one, labelSelector } = selection
  return { watched, by: one === undefined ? { labelSelector } : { name: one }, ownVersion }
}

/** Runs the first read of a pass, and at the same time records in the journal that the pass has started. */
export async function observe<Read>(deps: Deps, by: By, reading: Promise<Read>): Promise<Read> {
  const [read] = await Promise.all([reading, recordObservation(deps, by)])
  return read
}

/** The difference between the existing children and those that the run knows. */
export interface ChildrenNews<Child> {
  readonly changed: readonly Child[]
  /** uids of known children that do not exist any more. */
  readonly gone: readonly string[]
}

/** @param ages returns true for a child whose meaning changes with time, so that it counts as changed in each pass. */
export function newsOf<Child extends KubeObject>(
  children: readonly Child[],
  known: KnownVersions,
  ages: (child: Child) => boolean,
): ChildrenNews<Child> {
  return {
    changed: children.filter((child) => isChangedSince(child, known) || ages(child)),
    gone: deletedSince(known, children),
  }
}
