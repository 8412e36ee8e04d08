// What a pass in mode job reads beside its target: the children that its controller's document names, by the document's query.
//
//   O1. The query is filled from the subject alone, before anything is read (workflows/kit/run/job-query.ts says what it may ask).
//   O2. Where nothing can be selected, e.g. because a name is too long for a label, there are no children.

import { type By, selectionOf, type StateQuery, type Subject, type WatchedKind } from '../../workflows/kit/index.ts'
import type { Deps } from '../deps.ts'
import type { KubeObject } from '../kube/client.ts'
import { type Children, goneSince, isNews, type KnownVersions, recordObservation } from '../kube/read-family.ts'
import { jobController } from './controllers.ts'

/** Of which children of whom. */
export interface ChildrenRequest<Child extends WatchedKind> {
  readonly by: By
  /** Whose children they are. */
  readonly subject: Omit<Subject, 'group' | 'kind'>
  /** The state's name in the controller's document. */
  readonly state: string
  /** The state's kind. */
  readonly watched: Child
  /** Newest version of a child that the run itself has written or seen, 0 for none. */
  readonly ownVersion?: number
}

/** How to read the children that the run's controller declares as a state. @throws a plain Error (a bug) when it declares no such state. */
export function declaredChildren<Child extends WatchedKind>(
  deps: Pick<Deps, 'controllers'>,
  { by, subject, state, watched, ownVersion = 0 }: ChildrenRequest<Child>,
): Children<Child> {
  const { name, queries } = jobController(deps, by)
  const query = Object.hasOwn(queries, state) ? queries[state] : undefined
  if (query === undefined)
    throw new Error(
      `controller ${name} declares no state ${state}; expected one of ${Object.keys(queries).join(', ') || 'none'}`,
    )
  return { ...childrenOf(query, watched, subject, ownVersion), looker: by }
}

/** How to read the children of a subject that a query asks for. @throws a plain Error (a bug) when the query is about another kind. */
export function childrenOf<Child extends WatchedKind>(
  query: StateQuery,
  watched: Child,
  { uid, namespace, name }: Omit<Subject, 'group' | 'kind'>,
  ownVersion: number,
): Children<Child> {
  const kind = `${watched.apiVersion}/${watched.kind}`
  if (query.kind !== kind) throw new Error(`the query is about ${query.kind}, but what is read is a ${kind}`)
  const selection = selectionOf(query, { metadata: { uid, namespace, name } })
  if (selection === undefined) return { watched, by: undefined, ownVersion }
  const { name: one, labelSelector } = selection
  return { watched, by: one === undefined ? { labelSelector } : { name: one }, ownVersion }
}

/** What a pass reads first; the journal is told in the same tick that the pass has begun. */
export async function observed<Read>(deps: Deps, by: By, reading: Promise<Read>): Promise<Read> {
  const [read] = await Promise.all([reading, recordObservation(deps, by)])
  return read
}

/** The difference between the children that are there and those that the run knows. */
export interface ChildrenNews<Child> {
  readonly changed: readonly Child[]
  /** uids of known children that are there no more. */
  readonly gone: readonly string[]
}

/** @param ages says of a child that it is another thing at any later time, changed or not. */
export function newsOf<Child extends KubeObject>(
  children: readonly Child[],
  known: KnownVersions,
  ages: (child: Child) => boolean,
): ChildrenNews<Child> {
  return { changed: children.filter((child) => isNews(child, known) || ages(child)), gone: goneSince(known, children) }
}
