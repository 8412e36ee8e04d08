// The objects of a test's pass: the objects in the states that the test gives, and the objects that the pass applies.
// A state is the result of a query, by the query's name. The fake cluster is not an API server: it sets no defaults,
// rejects nothing and runs no other controllers. A refreshed state shows the pass's writes.
//
// After a refresh, a state contains the given objects of this state that still exist, and each created object that its
// query selects. A given object appears only in the states in which the test gives it.
//
// Limits: of field selectors only `metadata.name` is evaluated. The owner conditions of a query (`owned`, `controller`)
// are ignored.

import type { JsonObject, ObservedObject, Ownership, WantedObject } from '../run/level/level-pass.ts'
import { isChildOf, OWNER_ANNOTATION, OWNER_UID_LABEL, ownerAnnotation, ownerReferenceOf } from '../run/owners.ts'
import type { LevelController } from '../run/level/define-level.ts'
import type { ObjectMeta } from '../kind/kind.ts'
import { groupKindOf } from '../kind/group-kind.ts'
import { path, textAt } from '../kind/projection.ts'
import { metadataOf } from './stored-objects.ts'
import type { JsonValue } from '../kind/schema.ts'
import {
  type Narrowed,
  type Selection,
  selectionsOf,
  type StateQuery,
  type TemplateValues,
} from '../run/level/query.ts'

export interface FakeCluster {
  /** The states; a state that is not given is empty. */
  readonly state: Record<string, unknown>
  /**
   * @param owner how the write marks a created object: with an owner reference, with a label and an annotation, or with
   * an annotation only (`none`).
   * @returns whether the object changed.
   */
  readonly apply: (object: WantedObject, owner: Ownership) => boolean
  /** The object of this name. */
  readonly find: (object: Named) => JsonObject | undefined
  /**
   * 'ours': the target owns the object, or the object has the target's annotation. 'nobody': the object has no owner.
   * Given objects of `owned` queries without an owner count as 'ours'.
   */
  readonly whose: (object: Named) => 'ours' | 'nobody' | { readonly owner: string }
  readonly remove: (object: ObservedObject) => void
  /** Evaluates the query again and replaces its result in `state`; results of a view stay as given. */
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
  // The keys of all given objects.
  const initial = new Set(objects.keys())
  // The keys of the given objects of `owned` queries.
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
    look(name, { names, labels = {}, fields = {} } = {}) {
      const query = Object.hasOwn(queries, name) ? queries[name] : undefined
      if (query === undefined)
        throw new Error(`unknown state "${name}"; expected one of ${Object.keys(queries).join(', ')}`)
      // Results of a view do not change with writes.
      if (views.has(name)) return views.get(name)
      const isMeant = (object: JsonObject) =>
        (names?.includes(object.metadata.name) ?? true) &&
        Object.entries(labels).every(([key, values]) => values.includes(object.metadata.labels?.[key] ?? '')) &&
        Object.entries(fields).every(([field, values]) => values.includes(textAt(object, path(field)) ?? ''))
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
  // A view returns any value; objects have metadata.
  return all.filter((one): one is JsonObject => typeof one === 'object' && one !== null && 'metadata' in one)
}

/** The fields that identify an object; without a namespace, the target's namespace counts. */
export type Named = Pick<WantedObject, 'apiVersion' | 'kind'> & {
  readonly metadata: { readonly name: string; readonly namespace?: string | undefined }
}

function keyOf({ apiVersion, kind, metadata }: Named, target: JsonObject): string {
  return [apiVersion, kind, metadata.namespace ?? target.metadata.namespace, metadata.name].join(' ')
}

/** The created object with its owner. `none` adds the annotation, too, so that `whose` recognizes the object. */
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

/**
 * Whether a query selects an object that the pass created. A field selector other than the name cannot be evaluated
 * and selects nothing.
 *
 * @param ground the values for the query's templates.
 */
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

/** Whether labels match a selector in text form, with the terms of label-selector.ts. */
function hasLabels(selector: Selection['labelSelector'], labels: Readonly<Record<string, string>>): boolean {
  return [...selector.matchAll(/([^,(]+)(?:\(([^)]*)\))?/g)].every(([, term = '', listed = '']) => {
    const [key = '', operator] = term.trim().split(' ')
    const [name = '', value] = key.replace(/^!/, '').split('=')
    const found = ownField(labels, name)
    if (operator !== undefined)
      return (typeof found === 'string' && listed.split(',').includes(found)) === (operator === 'in')
    if (key.startsWith('!')) return found === undefined
    return value === undefined ? found !== undefined : found === value
  })
}

function isField(selector: Selection['fieldSelector'], name: string): boolean {
  return selector === '' || selector === `metadata.name=${name}`
}

type Fields = Readonly<Record<string, unknown>>

/** Whether the object already has all applied fields; null requires that the field is missing. */
export function isThere(found: unknown, wanted: unknown): boolean {
  if (wanted === null || wanted === undefined) return found === undefined || found === null
  if (Array.isArray(wanted))
    return Array.isArray(found) && found.length === wanted.length && wanted.every((one, at) => isThere(found[at], one))
  if (isFields(wanted))
    return isFields(found) && Object.entries(wanted).every(([key, value]) => isThere(ownField(found, key), value))
  return found === wanted
}

/** Merges applied fields like `act.apply`: other fields stay, null removes, lists are replaced as a whole. */
export function mergedFields(found: Fields, wanted: Fields): Fields {
  const remaining = Object.entries(found).filter(([key]) => wanted[key] === undefined)
  const written = Object.entries(wanted).flatMap(([key, value]) => {
    if (value === undefined || value === null) return []
    const before = ownField(found, key)
    return [[key, isFields(value) ? mergedFields(isFields(before) ? before : {}, value) : withoutNulls(value)] as const]
  })
  return Object.fromEntries([...remaining, ...written])
}

/** A null in a new list element removes the field. */
function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNulls)
  return isFields(value) ? mergedFields({}, value) : value
}

function ownField(fields: Fields, key: string): unknown {
  return Object.hasOwn(fields, key) ? fields[key] : undefined
}

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
