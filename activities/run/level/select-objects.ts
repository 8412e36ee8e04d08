// Reads the objects that a query selects, reduced to the fields that the query names.
//
//   S1. A query with `pick` or a view reads objects in pages, and each page is reduced at once, so thousands of objects fit into memory. The other fields
//       never leave this process.
//   S2. Lists are at least as new as the journal and as this process's own writes, unless the request has `fromEtcd`: then the API
//       server reads from etcd, which is slower and always current.

import {
  type GroupKind,
  groupKindOf,
  type JsonObject,
  type LevelQuery,
  pickFields,
  type Selection,
} from '../../../workflows/kit/index.ts'
import type { Deps } from '../../deps.ts'
import { newestVersion, newestVersionAnywhere } from '../../journal/read/subjects.ts'
import { activitySignal } from '../../kube/activity-signal.ts'
import type { KubeObject } from '../../kube/client.ts'
import { resourcePath } from '../../kube/resource-path.ts'
import { finalFailure } from '../../kube/errors.ts'
import { readPages } from '../../kube/pages.ts'
import { readObject } from '../../kube/read-family.ts'
import { controllerOf } from '../controllers.ts'
import { followedKind, nameOf } from './kinds.ts'
import { redactObject } from './redact-object.ts'

/** A selected object: its metadata, and the reduced form that the pass gets. */
export interface SelectedObject {
  readonly object: Pick<KubeObject, 'metadata'>
  /** Undefined if the view function drops the object. */
  readonly reduced: unknown
}

export interface SelectionRequest {
  readonly state: string
  readonly query: LevelQuery
  readonly selections: readonly Selection[]
  /** The run that reads the state; its controller defines the views. */
  readonly by: { readonly workflowID: string }
  /** Reads from etcd instead of the API server's watch cache (S2). */
  readonly fromEtcd: boolean
}

/** @param isSelected additional condition on the unreduced object. @throws `ViewFailed` (final); failures of the API server. */
export async function selectObjects(
  deps: Deps,
  request: SelectionRequest,
  isSelected: (object: KubeObject) => boolean,
): Promise<readonly SelectedObject[]> {
  const reduce = reducer(deps, request)
  const found = request.selections.map(async (selection) => {
    const selected: SelectedObject[] = []
    for await (const objects of pages(deps, request, selection))
      for (const object of objects)
        if (isSelected(object)) selected.push({ object: { metadata: object.metadata }, reduced: reduce(object) })
    return selected
  })
  return (await Promise.all(found)).flat()
}

// Size of a page; 500 Pods are about 5 MB.
const PAGE_SIZE = 500

async function* pages(
  deps: Deps,
  { query, fromEtcd }: SelectionRequest,
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
  const fresh = !fromEtcd && (await freshnessParameters(deps, groupKindOf(kind), namespace))
  // Pages save no memory if the whole objects are kept.
  const limit = isReduced(query) ? PAGE_SIZE : undefined
  const how = { query: { ...selectors, ...fresh }, limit, signal: activitySignal() }
  for await (const { items } of readPages(deps.kube, path, how)) yield items
}

/** Whether the object can be read by its path. A name in all namespaces, or with other selectors, needs a list. */
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

async function freshnessParameters({ db, cluster, journal }: Deps, kind: GroupKind, namespace: string | undefined) {
  // Read before the journal's database: a write that is journaled between the two reads is in the database's answer.
  const written = journal.newestWritten(kind, namespace)
  const journaled =
    namespace === undefined
      ? await newestVersionAnywhere(db, cluster, kind)
      : await newestVersion(db, cluster, kind, namespace)
  const newest = Math.max(written, journaled ?? 0)
  return newest > 0 && { resourceVersionMatch: 'NotOlderThan', resourceVersion: String(newest) }
}

/** Returns the function that reduces an object to the picked fields, or to the value of the view (S1). */
function reducer(deps: Deps, { state, query, by }: SelectionRequest): (object: KubeObject) => unknown {
  const { pick, viewed } = query.query
  const picked = (object: KubeObject): JsonObject =>
    pick === undefined ? redactObject(object, query) : pickFields(redactObject(object, query), pick)
  if (viewed !== true) return picked
  const view = viewOf(deps, controllerOf(by), state)
  return (object) => {
    try {
      return view(picked(object) as never)
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error)
      throw finalFailure(
        'ViewFailed',
        `the view of state ${state} throws for ${nameOf(query.kind, object.metadata)}: ${message}`,
      )
    }
  }
}

/** @throws a plain Error (a bug) if this process has no such view. */
function viewOf({ controllers }: Pick<Deps, 'controllers'>, name: string, state: string) {
  const controller = controllers.get(name)
  const queries = controller?.mode === 'level' ? controller.queries : {}
  const view = Object.hasOwn(queries, state) ? queries[state]?.view : undefined
  if (view === undefined) throw new Error(`controller ${name} has no view of state ${state} in this process`)
  return view
}
