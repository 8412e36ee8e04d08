// The target of a controller in level mode and all its states, read together. The rules of queries: workflows/kit/run/query.ts (Q1-Q3).
//
//   O1. Subscriptions come first, so that what changes during the reading wakes the subject.
//   O2. Lists are not older than what the journal knows; single objects are read from the store, and so are lists under a new subscription:
//       an event that is being journaled has not seen it, and the journal does not show what that event tells.
//   O3. What makes a state faulty wakes the subject when it changes or goes.
//   O4. A pass that is not waited for any more (cut-off.ts) subscribes to nothing: another one has looked since, and what that subscribed to would be lost.
//       A worker that stood still for less time than a call has, and more than its task, is not told apart.
//   O5. A try that follows another one does not know what that subscribed to, so all is new to it (O2).

import {
  groupKindOf,
  isSameGroupKind,
  type By,
  eachOnce,
  type JsonValue,
  mayBeMarked,
  narrowedTo,
  type LevelActivities,
  type LevelQuery,
  type LevelResource,
  type LevelSubscription,
  type Observed,
  type ObserveInput,
  type Selection,
  selectionsOf,
  type Subject,
  subscriptionsOf,
  writesFor,
  type WrittenKind,
} from '../../../workflows/kit/index.ts'
import type { Deps } from '../../deps.ts'
import { replaceSubscriptions } from '../../journal/write/level-runs.ts'
import type { KubeObject } from '../../kube/client.ts'
import { finalFailure } from '../../kube/errors.ts'
import { isOwnedBy } from '../../kube/owners.ts'
import { readObject } from '../../kube/read-family.ts'
import { controllerOf } from '../controllers.ts'
import { ownerOf } from '../../kube/views.ts'
import { isRetry } from '../attempt.ts'
import { whileWaitedFor } from './cut-off.ts'
import { fitStates, refuseTooLarge } from './fit-states.ts'
import { followedKind, nameOf } from './kinds.ts'
import { rememberTarget, targetOf } from './known-target.ts'
import { isMarkedBy } from './ownership.ts'
import { readable } from './readable.ts'
import { type Selected, selectObjects } from './select-objects.ts'
import { hearOf } from './send.ts'
import { readOrFault } from './unreadable.ts'

export const observeActivities = (deps: Deps): Pick<LevelActivities, 'observeLevel' | 'refreshLevel'> => ({
  /**
   * Reads the target and every state.
   *
   * @returns undefined when the target is gone, or another object has its name, unless that is asked for.
   * @throws `StatesTooLarge` (final) when the target alone is; failures of the API server and the journal. What keeps a single state from being read,
   *   or makes it too large, is its fault in the answer.
   */
  async observeLevel(input) {
    const controller = controllerOf(input.by)
    deps.observerOf?.(controller)?.passBegan?.({ controller, workflowID: input.by.workflowID })
    // From here on its time is measured (O4).
    await whileWaitedFor(() => deps.journal.touch(input.by))
    const found = await readObject(deps, followedKind(deps, input.target), input.subject.namespace, input.subject.name)
    if (found?.metadata.uid === input.subject.uid) {
      rememberTarget(deps, found)
      return await observe(deps, input, found)
    }
    if (input.evenGone !== true) return undefined
    return { ...(await observe(deps, input, nameOnly(input))), isGone: true }
  },

  /** Reads one state again, of the target as the pass knows it, or as it is by now. @throws `AmbiguousState`, `StateNotOwned`, `StatesTooLarge` (final); failures of the API server and the journal; `NotFound` (final) when the target is gone meanwhile. */
  async refreshLevel({ by, subject, target: kind, version, isGone, state, query, narrowed = {} }) {
    const target =
      isGone === true ? nameOnly({ subject, target: kind }) : await targetOf(deps, { subject, target: kind, version })
    if (target?.metadata.uid !== subject.uid)
      throw finalFailure(
        'NotFound',
        `${nameOf(subject.kind, subject)} is gone; expected it to be there for its state ${state}`,
      )
    const settings = settingsFor(deps, by)
    const seen = readable(target, kind)
    const selections = narrowedTo(selected(query, seen, settings), narrowed)
    const writes = writesIn(deps, by, query, seen)
    // What is lazy may be under a subscription of this very pass (O2).
    const fromStore = query.query.lazy === true
    const found = await readState(deps, { by, subject, state, query, selections, target, kind, writes }, fromStore)
    refuseTooLarge(subject, state, found)
    return found === undefined ? {} : { found }
  },
})

/** All that is known of one that is gone. */
function nameOnly({ subject, target }: Pick<ObserveInput, 'subject' | 'target'>): KubeObject {
  const { apiVersion, kind } = target
  const { name, namespace, uid } = subject
  return { apiVersion, kind, metadata: { name, uid, ...(namespace !== '' && { namespace }) } }
}

interface StateRequest {
  readonly by: By
  readonly subject: Subject
  readonly state: string
  readonly query: LevelQuery
  /** Empty: nothing can be selected. */
  readonly selections: readonly Selection[]
  readonly target: KubeObject
  readonly kind: LevelResource
  /** Where what is owned by label may be (write-places.ts, W4). */
  readonly writes: readonly WrittenKind[]
}

async function observe(deps: Deps, input: ObserveInput, found: KubeObject): Promise<Observed> {
  const { subject, queries, by } = input
  const target = readable(found, input.target)
  const wing = settingsFor(deps, by)
  const requests = Object.entries(queries).map(([state, query]): StateRequest => {
    const selections = selected(query, target, wing)
    return {
      by,
      subject,
      state,
      query,
      selections,
      target: found,
      kind: input.target,
      writes: writesIn(deps, by, query, target),
    }
  })
  const wanted = requests.flatMap(watchedBy)
  const { uid, namespace, name } = subject
  const level = { controller: controllerOf(by), cluster: deps.cluster, uid, namespace, name }
  // O4
  const added = await whileWaitedFor(() => replaceSubscriptions(deps.db, level, wanted, deps.now()))
  const isAgain = isRetry()
  const asked = requests.filter(({ query }) => query.query.lazy !== true)
  const read = await Promise.all(
    asked.map((request) =>
      readOrFault(stateOf(request), () => readState(deps, request, isAgain || isNew(request, added))),
    ),
  )
  const states = asked.flatMap(({ state }, index) => {
    const found = read[index]
    return found === undefined || !('value' in found) || found.value === undefined
      ? []
      : [[state, found.value] as const]
  })
  const unreadable = asked.flatMap(({ state }, index) => {
    const found = read[index]
    return found !== undefined && 'fault' in found ? [[state, found.fault] as const] : []
  })
  return fitStates(subject, {
    ...(wing !== undefined && { wing }),
    ...(deps.clocks && { clocks: deps.clocks() }),
    ...{ target, states: Object.fromEntries(states) },
    ...(unreadable.length > 0 && { unreadable: Object.fromEntries(unreadable) }),
  })
}

/** What the controller's wing tells its passes. */
function settingsFor({ wingSettings }: Pick<Deps, 'wingSettings'>, by: By): JsonValue | undefined {
  return wingSettings?.(controllerOf(by))
}

/** The filled query; kinds without namespaces are looked for in none (Q1). */
function selected(query: LevelQuery, target: object, settings: JsonValue | undefined): readonly Selection[] {
  const selections = selectionsOf(query.query, target, settings)
  if (query.withoutNamespace !== true) return selections
  // Of one name or field in several namespaces it is the same.
  return eachOnce(selections.map((selection) => ({ ...selection, namespace: undefined })))
}

function watchedBy({ query, selections }: StateRequest): readonly LevelSubscription[] {
  return query.query.quiet === true ? [] : subscriptionsOf(query.query, groupKindOf(query), selections)
}

/** Whether what the state looks at was not subscribed to before. */
function isNew(request: StateRequest, added: readonly LevelSubscription[]): boolean {
  return watchedBy(request).some((watching) =>
    added.some(
      ({ namespace, name, traits, ...kind }) =>
        isSameGroupKind(kind, watching) &&
        namespace === watching.namespace &&
        name === watching.name &&
        traits.join() === watching.traits.join(),
    ),
  )
}

/** @returns a list, one object, or nothing. */
async function readState(
  deps: Deps,
  request: StateRequest,
  fromStore: boolean,
  isSecondLook = false,
): Promise<unknown> {
  const { query, selections } = request
  const { many = false, owned } = query.query
  const controller = selections[0]?.controller
  const isMeant = (object: KubeObject) =>
    (controller === undefined || ownerOf(object)?.name === controller) &&
    // A list leaves out what is not owned.
    (!many || owned === undefined || isOwned(object, request))
  const meant = await selectObjects(deps, { ...request, fromStore }, isMeant)
  if (!many) return await onlyOne(deps, request, meant, isSecondLook)
  return meant.flatMap(({ seen }) => (seen === undefined ? [] : [seen]))
}

/** `state jobs of Shop n/one`. */
function stateOf({ state, target, kind }: Pick<StateRequest, 'state' | 'target' | 'kind'>): string {
  return `state ${state} of ${nameOf(kind.kind, target.metadata)}`
}

function isOwned(
  object: Pick<KubeObject, 'metadata'>,
  { query, kind, subject, writes }: Pick<StateRequest, 'query' | 'kind' | 'subject' | 'writes'>,
): boolean {
  if (query.query.owned !== 'label') return isOwnedBy(object, kind, subject)
  const place = { ...groupKindOf(query), namespace: object.metadata.namespace ?? '', home: subject.namespace }
  return isMarkedBy({ subject, target: kind }, object) && mayBeMarked(writes, place)
}

/** What the controller of the run declares, filled from the target; of no use for what is not owned by label. */
function writesIn(deps: Deps, by: By, { query: { owned } }: LevelQuery, target: object): readonly WrittenKind[] {
  return owned === 'label' ? writesFor(writesOf(deps, by), { target, settings: settingsFor(deps, by) }) : []
}

/** @throws a plain Error (a bug) when this process has no such controller: it is not that of the run. */
function writesOf({ controllers }: Pick<Deps, 'controllers'>, by: By) {
  const name = controllerOf(by)
  const controller = controllers.get(name)
  if (controller?.mode === 'level') return controller.writes
  throw new Error(`this process has no controller ${name} in mode level`)
}

/** Q2, Q3. */
async function onlyOne(
  deps: Deps,
  request: StateRequest,
  objects: readonly Selected[],
  isSecondLook: boolean,
): Promise<unknown> {
  const { query, kind } = request
  const owned = query.query.owned === undefined ? objects : objects.filter(({ object }) => isOwned(object, request))
  const [only, ...others] = owned
  const where = stateOf(request)
  if (others.length > 0) {
    const found = `${owned.length} objects of kind ${query.kind}`
    throw finalFailure('AmbiguousState', `${where}: found ${found}, expected one`)
  }
  const [stranger] = objects
  if (only !== undefined || stranger === undefined) return only?.seen
  // O3
  const strangers = objects.slice(0, MOST_STRANGERS)
  await Promise.all(strangers.map(({ object }) => hearOf(deps, request, placeOf(deps, query, object))))
  if (!isSecondLook) return await readState(deps, request, true, true)
  const owner = ownerOf(stranger.object)
  const found = owner === undefined ? 'nobody' : `${owner.kind} ${owner.name}`
  const object = nameOf(query.kind, stranger.object.metadata)
  throw finalFailure('StateNotOwned', `${where}: ${object} is owned by ${found}, expected the ${kind.kind}`)
}

// Each is a subscription. Selectors that find more strangers than this are not meant for one object.
const MOST_STRANGERS = 20

function placeOf(deps: Deps, query: LevelQuery, { metadata }: Pick<KubeObject, 'metadata'>) {
  return { watched: followedKind(deps, query), namespace: metadata.namespace ?? '', name: metadata.name }
}
