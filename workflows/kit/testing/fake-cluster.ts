// The objects that a test's pass finds and writes: those of its states, and what it has applied. Not an API server: nothing is defaulted,
// refused or finished. A state that is read again shows what the pass wrote.

import type { JsonObject, ObservedObject, Ownership, WantedObject } from '../run/level/level-pass.ts'
import { isChildOf, OWNER_ANNOTATION, ownerAnnotation, OWNER_UID_LABEL, ownerReferenceOf } from '../run/owners.ts'
import type { LevelController } from '../run/level/define-level.ts'
import type { ObjectMeta } from '../kind/kind.ts'
import { groupKindOf } from '../kind/group-kind.ts'
import { metadataOf } from './stored-objects.ts'
import type { JsonValue } from '../kind/schema.ts'
import { isThere, mergedFields } from './written-fields.ts'
import {
  type TemplateValues,
  type Narrowed,
  type Selection,
  selectionsOf,
  type StateQuery,
} from '../run/level/query.ts'

export interface FakeCluster {
  /** The states, those that were not given empty. */
  readonly state: Record<string, unknown>
  /** @returns whether anything was written: what is so already is not. */
  readonly apply: (object: WantedObject, owner: Ownership) => boolean
  /** The object that is there under this name. */
  readonly find: (object: Named) => JsonObject | undefined
  /** Whose it is: the target's, nobody's, or that of the one that is named. What a test gives to an `owned` state is the target's. */
  readonly whose: (object: Named) => 'ours' | 'nobody' | { readonly owner: string }
  readonly remove: (object: ObservedObject) => void
  /** The state as it is now. */
  readonly look: (name: string, narrowed?: Narrowed) => unknown
}

export function fakeCluster(
  { queries }: Pick<LevelController, 'queries'>,
  target: JsonObject,
  states: Readonly<Record<string, unknown>>,
  settings?: JsonValue,
): FakeCluster {
  const empty = ([name, query]: [string, StateQuery]) => [name, query.many === true ? [] : undefined] as const
  const state: Record<string, unknown> = { ...Object.fromEntries(Object.entries(queries).map(empty)), ...states }
  const { objects, shownBy, views } = givenIn(state, target)
  const initial = new Set(objects.keys())
  const given = new Set(
    Object.entries(queries).flatMap(([name, { owned }]) => (owned === undefined ? [] : (shownBy.get(name) ?? []))),
  )
  const isShown = (name: string, query: StateQuery, key: string, object: JsonObject) =>
    initial.has(key) ? (shownBy.get(name) ?? []).includes(key) : isSelected(query, object, { target, settings })
  return {
    state,
    apply(object, owner) {
      const key = keyOf(object, target)
      const before = objects.get(key)
      if (before !== undefined && isThere(before, object)) return false
      objects.set(
        key,
        before === undefined
          ? made(object, target, owner)
          : (mergedFields({ ...before }, { ...object }) as unknown as JsonObject),
      )
      return true
    },
    find: (object) => objects.get(keyOf(object, target)),
    whose(object) {
      const key = keyOf(object, target)
      const found = objects.get(key)
      const whose = found === undefined ? 'nobody' : whoseIs(found, target)
      return whose === 'nobody' && given.has(key) ? 'ours' : whose
    },
    remove: (object) => void objects.delete(keyOf(object, target)),
    look(name, { names, labels = {} } = {}) {
      const query = Object.hasOwn(queries, name) ? queries[name] : undefined
      if (query === undefined)
        throw new Error(`there is no state "${name}"; expected one of ${Object.keys(queries).join(', ')}`)
      // What a view has made of objects shows nothing of what a pass writes.
      if (views.has(name)) return views.get(name)
      const isMeant = ({ metadata }: JsonObject) =>
        (names?.includes(metadata.name) ?? true) &&
        Object.entries(labels).every(([key, values]) => values.includes(metadata.labels?.[key] ?? ''))
      const found = [...objects].flatMap(([key, object]) =>
        isShown(name, query, key, object) && isMeant(object) ? [object] : [],
      )
      state[name] = query.many === true ? found : found[0]
      return state[name]
    },
  }
}

function givenIn(state: Readonly<Record<string, unknown>>, target: JsonObject) {
  const objects = new Map<string, JsonObject>()
  const shownBy = new Map<string, readonly string[]>()
  const views = new Map<string, unknown>()
  for (const [name, value] of Object.entries(state)) {
    const found = objectsIn(value)
    if (found.length === 0 && isSomething(value)) views.set(name, value)
    for (const object of found) objects.set(keyOf(object, target), object)
    shownBy.set(
      name,
      found.map((object) => keyOf(object, target)),
    )
  }
  return { objects, shownBy, views }
}

function isSomething(value: unknown): boolean {
  return Array.isArray(value) ? value.length > 0 : value !== undefined
}

function objectsIn(value: unknown): readonly JsonObject[] {
  const all: readonly unknown[] = Array.isArray(value) ? value : [value]
  // A view may be anything; what has metadata is an object.
  return all.filter((one): one is JsonObject => typeof one === 'object' && one !== null && 'metadata' in one)
}

/** What names an object. */
export type Named = Pick<WantedObject, 'apiVersion' | 'kind'> & {
  readonly metadata: { readonly name: string; readonly namespace?: string | undefined }
}

function keyOf({ apiVersion, kind, metadata }: Named, target: JsonObject): string {
  return [apiVersion, kind, metadata.namespace ?? target.metadata.namespace, metadata.name].join(' ')
}

function made(object: WantedObject, target: JsonObject, owner: Ownership): JsonObject {
  const { apiVersion, kind, metadata } = target
  const { name, uid, namespace } = metadata
  const { metadata: wanted, ...fields } = mergedFields({}, { ...object }) as unknown as {
    readonly metadata: Partial<ObjectMeta>
  }
  const annotations = { ...wanted.annotations, [OWNER_ANNOTATION]: markOf(target) }
  const whose = {
    target: { ownerReferences: [{ apiVersion, kind, name, uid, controller: true }] },
    label: { annotations, labels: { ...wanted.labels, [OWNER_UID_LABEL]: uid } },
    none: { annotations },
  }[owner]
  const whole = metadataOf({ namespace, ...wanted, ...whose })
  return { ...fields, apiVersion: object.apiVersion, kind: object.kind, metadata: whole }
}

function whoseIs({ metadata }: JsonObject, target: JsonObject): 'ours' | 'nobody' | { readonly owner: string } {
  const { labels = {}, annotations = {} } = metadata
  const owner = ownerReferenceOf({ metadata })
  if (owner !== undefined)
    return isChildOf({ metadata }, { ...groupKindOf(target), ...target.metadata })
      ? 'ours'
      : { owner: `${owner.kind} ${owner.name}` }
  const marked = labels[OWNER_UID_LABEL]
  if (marked !== undefined && marked !== target.metadata.uid) return { owner: annotations[OWNER_ANNOTATION] ?? marked }
  return annotations[OWNER_ANNOTATION] === markOf(target) ? 'ours' : 'nobody'
}

function markOf({ apiVersion, kind, metadata }: JsonObject): string {
  return ownerAnnotation({ apiVersion, kind, namespace: metadata.namespace, name: metadata.name })
}

/** Whether a query would find what the pass has made. By fields other than the name nobody can tell, so it does not. */
function isSelected(query: StateQuery, { apiVersion, kind, metadata }: JsonObject, ground: TemplateValues): boolean {
  if (query.kind !== `${apiVersion}/${kind}`) return false
  return selectionsOf(query, ground.target, ground.settings).some(
    ({ namespace, name, labelSelector, fieldSelector }) => {
      const isHere = namespace === undefined || namespace === metadata.namespace
      const isNamed = name === undefined || name === metadata.name
      return (
        isHere && isNamed && hasLabels(labelSelector, metadata.labels ?? {}) && isField(fieldSelector, metadata.name)
      )
    },
  )
}

function hasLabels(selector: Selection['labelSelector'], labels: Readonly<Record<string, string>>): boolean {
  const pairs = selector.split(',').filter((pair) => pair !== '')
  return pairs.every((pair) => labels[pair.slice(0, pair.indexOf('='))] === pair.slice(pair.indexOf('=') + 1))
}

function isField(selector: Selection['fieldSelector'], name: string): boolean {
  return selector === '' || selector === `metadata.name=${name}`
}
