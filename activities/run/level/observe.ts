// Observes the target of a controller in level mode and all its states. Queries: workflows/kit/run/level/query.ts (Q1-Q3).
//
//   O1. Subscriptions are written before the reads, so that a change during the reads wakes the subject.
//   O2. Lists are at least as new as the journal. Single objects, and lists under a new subscription, are read from etcd: an event that is being
//       journaled has not seen the new subscription, and the journal does not contain that event yet.
//   O3. An object that makes a state faulty wakes the subject when it changes or is deleted.
//   O4. A pass after its deadline (call-deadline.ts) writes no subscriptions: a newer pass may have observed since, and its subscriptions would be lost.
//       A worker that was suspended for longer than its workflow task, but shorter than the call's time-out, is not detected.
//   O5. A retry does not know which subscriptions the previous attempt has written, so it treats all of them as new (O2).

import {
  groupKindOf,
  isSameGroupKind,
  type By,
  uniqueSelections,
  type JsonValue,
  mayOwnByLabel,
  narrowSelections,
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
import { replaceSubscriptions } from '../../journal/write/subscriptions.ts'
import type { KubeObject } from '../../kube/client.ts'
import { finalFailure } from '../../kube/errors.ts'
import { isOwnedBy } from '../../kube/owners.ts'
import { readObject } from '../../kube/read-family.ts'
import { controllerOf } from '../controllers.ts'
import { ownerOf } from '../../kube/object-views.ts'
import { isRetry } from '../attempt.ts'
import { withinCallDeadline } from './call-deadline.ts'
import { dropLargeStates, refuseTooLarge } from './fit-states.ts'
import { followedKind, nameOf } from './kinds.ts'
import { cacheTarget, readTarget } from './cached-target.ts'
import { isMarkedBy } from './ownership.ts'
import { redactObject } from './redact-object.ts'
import { type SelectedObject, selectObjects } from './select-objects.ts'
import { subscribeTo } from './send.ts'
import { readOrFault } from './state-faults.ts'

export const observeActivities = (deps: Deps): Pick<LevelActivities, 'observeLevel' | 'refreshLevel'> => ({
  /**
   * Reads the target and every state.
   *
   * @returns undefined if the target does not exist or another object has its name, unless the input has `evenGone`.
   * @throws `StatesTooLarge` (final) if the target alone is too large; failures of the API server and the journal. A state that cannot be read, or is too
   *   large, is a fault in the answer.
   */
  async observeLevel(input) {
    const controller = controllerOf(input.by)
    deps.runMetrics?.passStarted(input.by.workflowID)
    deps.observerOf?.(controller)?.passBegan?.({ controller, workflowID: input.by.workflowID })
    // The deadline is measured from here (O4).
    await withinCallDeadline(() => deps.journal.countPass(input.by))
    const found = await readObject(deps, followedKind(deps, input.target), input.subject.namespace, input.subject.name)
    if (found?.metadata.uid === input.subject.uid) {
      cacheTarget(deps, found)
      return await observe(deps, input, found)
    }
    if (input.evenGone !== true) return undefined
    return { ...(await observe(deps, input, nameOnly(input))), isGone: true }
  },

  /**
   * Reads one state again, for the observed target or a newer one.
   *
   * @throws `AmbiguousState`, `StateNotOwned`, `StatesTooLarge` (final); failures of the API server and the journal; `NotFound` (final) if the target does
   *   not exist any more.
   */
  async refreshLevel({ by, subject, target: kind, version, isGone, state, query, narrowed = {} }) {
    const target =
      isGone === true ? nameOnly({ subject, target: kind }) : await readTarget(deps, { subject, target: kind, version })
    if (target?.metadata.uid !== subject.uid)
      throw finalFailure(
        'NotFound',
        `${nameOf(subject.kind, subject)} does not exist any more, so its state ${state} cannot be read`,
      )
    const settings = settingsFor(deps, by)
    const redactedTarget = redactObject(target, kind)
    const selections = narrowSelections(selected(query, redactedTarget, settings), narrowed)
    const writes = writesIn(deps, by, query, redactedTarget)
    // A lazy state may have a subscription of this pass (O2).
    const fromEtcd = query.query.lazy === true
    const found = await readState(deps, { by, subject, state, query, selections, target, kind, writes }, fromEtcd)
    refuseTooLarge(subject, state, found)
    return found === undefined ? {} : { found }
  },
})

/** The target that does not exist any more: only its name is known. */
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
  /** Empty: the query selects nothing. */
  readonly selections: readonly Selection[]
  readonly target: KubeObject
  readonly kind: LevelResource
  /** Where objects that are owned by label may be (declared-writes.ts, W4). */
  readonly writes: readonly WrittenKind[]
}

async function observe(deps: Deps, input: ObserveInput, found: KubeObject): Promise<Observed> {
  const { subject, queries, by } = input
  const target = redactObject(found, input.target)
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
  const subscriptions = requests.flatMap(subscriptionsFor)
  const { uid, namespace, name } = subject
  const level = { controller: controllerOf(by), cluster: deps.cluster, uid, namespace, name }
  // O4
  const added = await withinCallDeadline(() => replaceSubscriptions(deps.db, level, subscriptions, deps.now()))
  const isAgain = isRetry()
  const readRequests = requests.filter(({ query }) => query.query.lazy !== true)
  const results = await Promise.all(
    readRequests.map((request) =>
      readOrFault(stateOf(request), () => readState(deps, request, isAgain || isNew(request, added))),
    ),
  )
  const states = readRequests.flatMap(({ state }, index) => {
    const result = results[index]
    return result === undefined || !('value' in result) || result.value === undefined
      ? []
      : [[state, result.value] as const]
  })
  const unreadable = readRequests.flatMap(({ state }, index) => {
    const result = results[index]
    return result !== undefined && 'fault' in result ? [[state, result.fault] as const] : []
  })
  return dropLargeStates(subject, {
    ...(wing !== undefined && { wing }),
    ...(deps.clocks && { clocks: deps.clocks() }),
    target,
    states: Object.fromEntries(states),
    ...(unreadable.length > 0 && { unreadable: Object.fromEntries(unreadable) }),
  })
}

/** Settings that the wing passes to its controllers. */
function settingsFor({ wingSettings }: Pick<Deps, 'wingSettings'>, by: By): JsonValue | undefined {
  return wingSettings?.(controllerOf(by))
}

/** The query with its templates filled. Cluster-scoped kinds have no namespace (Q1). */
function selected(query: LevelQuery, target: object, settings: JsonValue | undefined): readonly Selection[] {
  const selections = selectionsOf(query.query, target, settings)
  if (query.withoutNamespace !== true) return selections
  // Selections that differ only in the namespace are the same.
  return uniqueSelections(selections.map((selection) => ({ ...selection, namespace: undefined })))
}

function subscriptionsFor({ query, selections }: StateRequest): readonly LevelSubscription[] {
  return query.query.quiet === true ? [] : subscriptionsOf(query.query, groupKindOf(query), selections)
}

/** Whether the state has a new subscription. */
function isNew(request: StateRequest, added: readonly LevelSubscription[]): boolean {
  return subscriptionsFor(request).some((watching) =>
    added.some(
      ({ namespace, name, traits, ...kind }) =>
        isSameGroupKind(kind, watching) &&
        namespace === watching.namespace &&
        name === watching.name &&
        traits.join() === watching.traits.join(),
    ),
  )
}

/** @returns a list, one object, or undefined. */
async function readState(deps: Deps, request: StateRequest, fromEtcd: boolean, isSecondLook = false): Promise<unknown> {
  const { query, selections } = request
  const { many = false, owned } = query.query
  const controller = selections[0]?.controller
  const isSelected = (object: KubeObject) =>
    (controller === undefined || ownerOf(object)?.name === controller) &&
    // A list contains only owned objects.
    (!many || owned === undefined || isOwned(object, request))
  const selectedObjects = await selectObjects(deps, { ...request, fromEtcd }, isSelected)
  if (!many) return await singleObject(deps, request, selectedObjects, isSecondLook)
  return selectedObjects.flatMap(({ reduced }) => (reduced === undefined ? [] : [reduced]))
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
  const place = {
    ...groupKindOf(query),
    namespace: object.metadata.namespace ?? '',
    targetNamespace: subject.namespace,
  }
  return isMarkedBy({ subject, target: kind }, object) && mayOwnByLabel(writes, place)
}

/** The writes that the run's controller declares, with templates filled; needed only for objects that are owned by label. */
function writesIn(deps: Deps, by: By, { query: { owned } }: LevelQuery, target: object): readonly WrittenKind[] {
  return owned === 'label' ? writesFor(writesOf(deps, by), { target, settings: settingsFor(deps, by) }) : []
}

/** @throws a plain Error (a bug) if this process has no such controller. */
function writesOf({ controllers }: Pick<Deps, 'controllers'>, by: By) {
  const name = controllerOf(by)
  const controller = controllers.get(name)
  if (controller?.mode === 'level') return controller.writes
  throw new Error(`this process has no controller "${name}" in mode level; check --controllers and --wings`)
}

/** Q2, Q3. */
async function singleObject(
  deps: Deps,
  request: StateRequest,
  objects: readonly SelectedObject[],
  isSecondLook: boolean,
): Promise<unknown> {
  const { query, kind } = request
  const owned = query.query.owned === undefined ? objects : objects.filter(({ object }) => isOwned(object, request))
  const [only, ...others] = owned
  const where = stateOf(request)
  if (others.length > 0) {
    const found = `${owned.length} objects of kind ${query.kind}`
    throw finalFailure('AmbiguousState', `${where}: found ${found}; expected one`)
  }
  const [stranger] = objects
  if (only !== undefined || stranger === undefined) return only?.reduced
  // O3
  const strangers = objects.slice(0, MAX_STRANGERS)
  await Promise.all(strangers.map(({ object }) => subscribeTo(deps, request, placeOf(deps, query, object))))
  if (!isSecondLook) return await readState(deps, request, true, true)
  const owner = ownerOf(stranger.object)
  const found = owner === undefined ? 'nobody' : `${owner.kind} ${owner.name}`
  const object = nameOf(query.kind, stranger.object.metadata)
  throw finalFailure(
    'StateNotOwned',
    `${where}: ${object} is owned by ${found}; expected the ${kind.kind}; to adopt the object, remove owned from the state`,
  )
}

// Limit of subscriptions to objects of other owners. A selector that finds more of them is a mistake.
const MAX_STRANGERS = 20

function placeOf(deps: Deps, query: LevelQuery, { metadata }: Pick<KubeObject, 'metadata'>) {
  return { watched: followedKind(deps, query), namespace: metadata.namespace ?? '', name: metadata.name }
}
