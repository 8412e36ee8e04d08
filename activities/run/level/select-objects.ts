// The objects that a query selects, each as much of it as the query lets through.
//
//   S1. What is left out of an object leaves this process in no way: thousands of objects are read in parts, and each part is reduced at once.
//   S2. Lists are not older than what the journal knows and what this process has written, unless the store itself is to be asked.

import {
  type GroupKind,
  groupKindOf,
  type JsonObject,
  type LevelQuery,
  pickFields,
  type Selection,
} from '../../../workflows/kit/index.ts'
import type { Deps } from '../../deps.ts'
import { newestVersion, newestVersionAnywhere } from '../../journal/read/objects.ts'
import { activitySignal } from '../../kube/activity-signal.ts'
import type { KubeObject } from '../../kube/client.ts'
import { resourcePath } from '../../kube/resource-path.ts'
import { finalFailure } from '../../kube/errors.ts'
import { readPages } from '../../kube/pages.ts'
import { readObject } from '../../kube/read-family.ts'
import { controllerOf } from '../controllers.ts'
import { followedKind, nameOf } from './kinds.ts'
import { readable } from './readable.ts'

/** An object that was selected: what is asked of it before it is reduced, and what reaches the pass. */
export interface Selected {
  readonly object: Pick<KubeObject, 'metadata'>
  /** Undefined: a view leaves it out. */
  readonly seen: unknown
}

export interface Selecting {
  readonly state: string
  readonly query: LevelQuery
  readonly selections: readonly Selection[]
  /** Of the run whose state it is. */
  readonly by: { readonly workflowID: string }
  /** S2 */
  readonly fromStore: boolean
}

/** @throws `ViewFailed` (final); failures of the API server. */
export async function selectObjects(
  deps: Deps,
  selecting: Selecting,
  isMeant: (object: KubeObject) => boolean,
): Promise<readonly Selected[]> {
  const reduce = reducer(deps, selecting)
  const found = selecting.selections.map(async (selection) => {
    const selected: Selected[] = []
    for await (const objects of pages(deps, selecting, selection))
      for (const object of objects)
        if (isMeant(object)) selected.push({ object: { metadata: object.metadata }, seen: reduce(object) })
    return selected
  })
  return (await Promise.all(found)).flat()
}

// What the API server answers at once; 500 Pods are some 5 MB.
const PAGE = 500

async function* pages(
  deps: Deps,
  { query, fromStore }: Selecting,
  selection: Selection,
): AsyncGenerator<readonly KubeObject[]> {
  const kind = followedKind(deps, query)
  const { namespace, name } = selection
  if (name !== undefined && isNamedAlone(query, selection)) {
    const object = await readObject(deps, kind, namespace ?? '', name)
    yield object === undefined ? [] : [object]
    return
  }
  const path = resourcePath(kind, namespace)
  const selectors = selectorsOf(selection)
  const fresh = !fromStore && (await freshness(deps, groupKindOf(kind), namespace))
  const limit = isReduced(query) ? PAGE : undefined
  const how = { query: { ...selectors, ...fresh }, limit, signal: activitySignal() }
  for await (const { items } of readPages(deps.kube, path, how)) yield items
}

/** Read by its path. A name in all namespaces is a selector, and so is one beside others. */
function isNamedAlone({ withoutNamespace }: LevelQuery, { namespace, labelSelector, fieldSelector }: Selection) {
  return labelSelector === '' && fieldSelector === '' && (namespace !== undefined || withoutNamespace === true)
}

function selectorsOf({ name, labelSelector, fieldSelector }: Selection) {
  const fields = [name === undefined ? '' : `metadata.name=${name}`, fieldSelector].filter((one) => one !== '')
  return {
    ...(labelSelector !== '' && { labelSelector }),
    ...(fields.length > 0 && { fieldSelector: fields.join(',') }),
  }
}

function isReduced({ query: { pick, viewed } }: LevelQuery): boolean {
  return pick !== undefined || viewed === true
}

async function freshness({ db, cluster, journal }: Deps, kind: GroupKind, namespace: string | undefined) {
  // Asked for first: what is journaled meanwhile is in the journal's answer.
  const written = journal.newestWritten(kind, namespace)
  const journaled =
    namespace === undefined
      ? await newestVersionAnywhere(db, cluster, kind)
      : await newestVersion(db, cluster, kind, namespace)
  const newest = Math.max(written, journaled ?? 0)
  return newest > 0 && { resourceVersionMatch: 'NotOlderThan', resourceVersion: String(newest) }
}

/** S1 */
function reducer(deps: Deps, { state, query, by }: Selecting): (object: KubeObject) => unknown {
  const { pick, viewed } = query.query
  const picked = (object: KubeObject): JsonObject =>
    pick === undefined ? readable(object, query) : pickFields(readable(object, query), pick)
  if (viewed !== true) return picked
  const view = viewOf(deps, controllerOf(by), state)
  return (object) => {
    try {
      return view(picked(object) as never)
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error)
      throw finalFailure(
        'ViewFailed',
        `the view of state ${state} throws on ${nameOf(query.kind, object.metadata)}: ${message}`,
      )
    }
  }
}

/** @throws a plain Error (a bug) when this process has no such view: its controllers are not those of the run. */
function viewOf({ controllers }: Pick<Deps, 'controllers'>, name: string, state: string) {
  const controller = controllers.get(name)
  const queries = controller?.mode === 'level' ? controller.queries : {}
  const view = Object.hasOwn(queries, state) ? queries[state]?.view : undefined
  if (view === undefined) throw new Error(`controller ${name} has no view of state ${state} in this process`)
  return view
}
