// The target of a controller in level mode and all its states, read together. The rules of queries: workflows/kit/run/query.ts (Q1-Q3).
//
//   O1. Subscriptions come first, so that what changes during the reading wakes the subject.
//   O2. Lists are not older than what the journal knows; single objects are read from the store, and so are lists under a new subscription:
//       an event that is being journaled has not seen it, and the journal does not show what that event tells.

import {
  type GroupKind,
  groupKindOf,
  isSameGroupKind,
  type LevelActivities,
  type LevelQuery,
  type LevelResource,
  type Observed,
  type ObserveInput,
  type Selection,
  selectionOf,
  subscriptionOf,
} from '../../../workflows/kit/index.ts'
import type { Deps } from '../../deps.ts'
import { replaceSubscriptions, type Watching } from '../../journal/write/level-runs.ts'
import { newestVersion, newestVersionAnywhere } from '../../journal/read/objects.ts'
import { type KubeObject, type ObjectList, resourcePath } from '../../kube/client.ts'
import { finalFailure } from '../../kube/errors.ts'
import { isOwnedBy } from '../../kube/owners.ts'
import { readObject } from '../../kube/read-family.ts'
import { controllerOf } from '../controllers.ts'
import { ownerOf } from '../../kube/views.ts'
import { followedKind, nameOf } from './kinds.ts'
import { readable } from './readable.ts'
import { readOrFault } from './unreadable.ts'

export const observeActivities = (deps: Deps): Pick<LevelActivities, 'observeLevel' | 'refreshLevel'> => ({
  /**
   * Reads the target and every state.
   *
   * @returns undefined when the target is gone, or another object has its name.
   * @throws `StatesTooLarge` (final); failures of the API server and the journal. What keeps a single state from being read is its fault in the answer.
   */
  async observeLevel(input) {
    await deps.journal.touch(input.by)
    const found = await readObject(deps, followedKind(deps, input.target), input.subject.namespace, input.subject.name)
    if (found?.metadata.uid !== input.subject.uid) return undefined
    return await observe(deps, input, found)
  },

  /** Reads one state again. @throws `AmbiguousState`, `StateNotOwned` (final); failures of the API server and the journal; `NotFound` (final) when the target is gone meanwhile. */
  async refreshLevel({ subject, target: kind, state, query }) {
    const target = await readObject(deps, followedKind(deps, kind), subject.namespace, subject.name)
    if (target?.metadata.uid !== subject.uid)
      throw finalFailure(
        'NotFound',
        `${nameOf(subject.kind, subject)} is gone; expected it to be there for its state ${state}`,
      )
    const selection = selected(query, readable(target, kind))
    const found = await readState(deps, { state, query, selection, target, kind }, false)
    return found === undefined ? {} : { found }
  },
})

interface StateRequest {
  readonly state: string
  readonly query: LevelQuery
  /** Undefined: nothing can be selected. */
  readonly selection: Selection | undefined
  readonly target: KubeObject
  readonly kind: LevelResource
}

async function observe(deps: Deps, input: ObserveInput, found: KubeObject): Promise<Observed> {
  const { subject, queries, by } = input
  const target = readable(found, input.target)
  const requests = Object.entries(queries).map(([state, query]): StateRequest => {
    return { state, query, selection: selected(query, target), target: found, kind: input.target }
  })
  const wanted = requests.flatMap(({ query, selection }) => {
    const watching = selection && subscriptionOf(query.query, groupKindOf(query), selection)
    return watching ?? []
  })
  const { uid, namespace, name } = subject
  const level = { controller: controllerOf(by), cluster: deps.cluster, uid, namespace, name }
  const added = await replaceSubscriptions(deps.db, level, wanted, deps.now())
  const read = await Promise.all(
    requests.map((request) => readOrFault(placeOf(request), () => readState(deps, request, isNew(request, added)))),
  )
  const states = requests.flatMap(({ state }, index) => {
    const found = read[index]
    return found === undefined || !('value' in found) || found.value === undefined
      ? []
      : [[state, found.value] as const]
  })
  const unreadable = requests.flatMap(({ state }, index) => {
    const found = read[index]
    return found !== undefined && 'fault' in found ? [[state, found.fault] as const] : []
  })
  const observed = {
    ...{ target, states: Object.fromEntries(states) },
    ...(unreadable.length > 0 && { unreadable: Object.fromEntries(unreadable) }),
  }
  refuseTooLarge(subject, observed)
  return observed
}

/** The filled query; kinds without namespaces are looked for in none (Q1). */
function selected(query: LevelQuery, target: object): Selection | undefined {
  const selection = selectionOf(query.query, target)
  return selection && query.withoutNamespace === true ? { ...selection, namespace: undefined } : selection
}

/** Whether what the state looks at was not subscribed to before. */
function isNew({ query, selection }: StateRequest, added: readonly Watching[]): boolean {
  const watching = selection && subscriptionOf(query.query, groupKindOf(query), selection)
  if (watching === undefined) return false
  return added.some(
    (one) => isSameGroupKind(one, watching) && one.namespace === watching.namespace && one.name === watching.name,
  )
}

/** @returns a list, one object, or nothing. */
async function readState(deps: Deps, request: StateRequest, fromStore: boolean): Promise<unknown> {
  const { query, selection } = request
  const { many = false, owned = false } = query.query
  if (selection === undefined) return many ? [] : undefined
  const objects = await select(deps, query, selection, fromStore)
  const { controller, name } = selection
  // One that is asked for by name is there for the owner that it has; of others, those of other owners are not meant.
  const isMeant = (object: KubeObject) =>
    (controller === undefined || ownerOf(object)?.name === controller) &&
    (!owned || name !== undefined || isOwned(object, request))
  const meant = objects.filter(isMeant)
  return many ? meant.map((object) => readable(object, query)) : onlyOne(request, meant)
}

/** `state jobs of Shop n/one`. */
function placeOf({ state, target, kind }: Pick<StateRequest, 'state' | 'target' | 'kind'>): string {
  return `state ${state} of ${nameOf(kind.kind, target.metadata)}`
}

function isOwned(object: KubeObject, { target, kind }: Pick<StateRequest, 'target' | 'kind'>): boolean {
  const { uid = '', namespace = '' } = target.metadata
  return isOwnedBy(object, kind, { uid, namespace })
}

/** Q2, Q3. */
function onlyOne(request: StateRequest, objects: readonly KubeObject[]): unknown {
  const { query, target, kind } = request
  const [only, ...others] = objects
  if (only === undefined) return undefined
  const where = placeOf(request)
  if (others.length > 0) {
    const found = `${objects.length} objects of kind ${query.kind}`
    throw finalFailure('AmbiguousState', `${where}: found ${found}, expected one`)
  }
  if (query.query.owned === true && !isOwned(only, { target, kind })) {
    const owner = ownerOf(only)
    const found = owner === undefined ? 'nobody' : `${owner.kind} ${owner.name}`
    const object = nameOf(query.kind, only.metadata)
    throw finalFailure('StateNotOwned', `${where}: ${object} is owned by ${found}, expected the ${kind.kind}`)
  }
  return readable(only, query)
}

async function select(
  deps: Deps,
  query: LevelQuery,
  { namespace, name, labelSelector, fieldSelector }: Selection,
  fromStore: boolean,
): Promise<readonly KubeObject[]> {
  const kind = followedKind(deps, query)
  if (name !== undefined) {
    const object = await readObject(deps, kind, namespace ?? '', name)
    return object === undefined ? [] : [object]
  }
  const list = await deps.kube.request<ObjectList>('GET', resourcePath(kind, namespace), {
    query: {
      ...(labelSelector !== '' && { labelSelector }),
      ...(fieldSelector !== '' && { fieldSelector }),
      ...(!fromStore && (await freshness(deps, groupKindOf(kind), namespace))),
    },
  })
  return list.items
}

async function freshness({ db, cluster }: Deps, kind: GroupKind, namespace: string | undefined) {
  const journaled =
    namespace === undefined
      ? await newestVersionAnywhere(db, cluster, kind)
      : await newestVersion(db, cluster, kind, namespace)
  return (
    journaled !== undefined &&
    journaled > 0 && { resourceVersionMatch: 'NotOlderThan', resourceVersion: String(journaled) }
  )
}

// Temporal refuses a result of over 2 MB, and the run would try again for ever.
const MOST_BYTES = 1_500_000

function refuseTooLarge({ kind, namespace, name }: ObserveInput['subject'], observed: Observed): void {
  if (JSON.stringify(observed).length <= MOST_BYTES) return
  const sizes = Object.entries(observed.states).map(([state, value]) => {
    const count = Array.isArray(value) ? `${value.length} objects` : 'one object'
    return `${state} (${count}, ${Math.ceil(JSON.stringify(value).length / 1000)} kB)`
  })
  throw finalFailure(
    'StatesTooLarge',
    `${nameOf(kind, { namespace, name })} and its states are over ${MOST_BYTES / 1000} kB: ${sizes.join(', ')}; expected narrower selectors`,
  )
}
