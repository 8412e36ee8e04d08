// The objects that a test's pass finds and writes: those of its states, and what it has applied. Not an API server: nothing is defaulted,
// refused or finished. A state that is read again shows what the pass wrote.

import type { JsonObject, ObservedObject, WantedObject } from '../run/level.ts'
import type { LevelController } from '../run/define-level.ts'
import { metadataOf } from './stored-objects.ts'
import { isThere, mergedFields } from './written-fields.ts'
import { type Selection, selectionOf, type StateQuery } from '../run/query.ts'

export interface FakeCluster {
  /** The states, those that were not given empty. */
  readonly state: Record<string, unknown>
  /** @returns whether anything was written: what is so already is not. */
  readonly apply: (object: WantedObject) => boolean
  /** The controlling owner of the object that is there, when it is another one than the target. */
  readonly strangerOf: (object: WantedObject) => string | undefined
  readonly remove: (object: ObservedObject) => void
  /** The state as it is now. */
  readonly look: (name: string) => unknown
}

export function fakeCluster(
  { queries }: Pick<LevelController, 'queries'>,
  target: JsonObject,
  given: Readonly<Record<string, unknown>>,
): FakeCluster {
  const empty = ([name, query]: [string, StateQuery]) => [name, query.many === true ? [] : undefined] as const
  const state: Record<string, unknown> = { ...Object.fromEntries(Object.entries(queries).map(empty)), ...given }
  const objects = new Map<string, JsonObject>()
  const shownBy = new Map<string, readonly string[]>()
  for (const [name, value] of Object.entries(state)) {
    const found = objectsIn(value)
    for (const object of found) objects.set(keyOf(object, target), object)
    shownBy.set(
      name,
      found.map((object) => keyOf(object, target)),
    )
  }
  const initial = new Set(objects.keys())
  const isShown = (name: string, query: StateQuery, key: string, object: JsonObject) =>
    initial.has(key) ? (shownBy.get(name) ?? []).includes(key) : isSelected(query, object, target)
  return {
    state,
    apply(object) {
      const key = keyOf(object, target)
      const before = objects.get(key)
      if (before !== undefined && isThere(before, object)) return false
      objects.set(
        key,
        before === undefined
          ? made(object, target)
          : (mergedFields({ ...before }, { ...object }) as unknown as JsonObject),
      )
      return true
    },
    strangerOf(object) {
      const owner = objects.get(keyOf(object, target))?.metadata.ownerReferences?.find(({ controller }) => controller)
      return owner === undefined || owner.uid === target.metadata.uid ? undefined : `${owner.kind} ${owner.name}`
    },
    remove: (object) => void objects.delete(keyOf(object, target)),
    look(name) {
      const query = Object.hasOwn(queries, name) ? queries[name] : undefined
      if (query === undefined)
        throw new Error(`there is no state "${name}"; expected one of ${Object.keys(queries).join(', ')}`)
      const found = [...objects].flatMap(([key, object]) => (isShown(name, query, key, object) ? [object] : []))
      state[name] = query.many === true ? found : found[0]
      return state[name]
    },
  }
}

function objectsIn(value: unknown): readonly JsonObject[] {
  const all: readonly unknown[] = Array.isArray(value) ? value : [value]
  // A view may be anything; what has metadata is an object.
  return all.filter((one): one is JsonObject => typeof one === 'object' && one !== null && 'metadata' in one)
}

type Named = Pick<WantedObject, 'apiVersion' | 'kind'> & { readonly metadata: { name: string; namespace?: string } }

function keyOf({ apiVersion, kind, metadata }: Named, target: JsonObject): string {
  return [apiVersion, kind, metadata.namespace ?? target.metadata.namespace, metadata.name].join(' ')
}

function made(object: WantedObject, { apiVersion, kind, metadata }: JsonObject): JsonObject {
  const { name, uid, namespace } = metadata
  const ownerReferences = [{ apiVersion, kind, name, uid, controller: true }]
  const fields = mergedFields({}, { ...object }) as unknown as WantedObject
  return { ...fields, metadata: metadataOf({ namespace, ...fields.metadata, ownerReferences }) }
}

/** Whether a query would find what the pass has made. By fields other than the name nobody can tell, so it does not. */
function isSelected(query: StateQuery, { apiVersion, kind, metadata }: JsonObject, target: JsonObject): boolean {
  if (query.kind !== `${apiVersion}/${kind}`) return false
  const selection = selectionOf(query, target)
  if (selection === undefined) return false
  const { namespace, name, labelSelector, fieldSelector } = selection
  const isHere = namespace === undefined || namespace === metadata.namespace
  const isNamed = name === undefined || name === metadata.name
  return isHere && isNamed && hasLabels(labelSelector, metadata.labels ?? {}) && isField(fieldSelector, metadata.name)
}

function hasLabels(selector: Selection['labelSelector'], labels: Readonly<Record<string, string>>): boolean {
  const pairs = selector.split(',').filter((pair) => pair !== '')
  return pairs.every((pair) => labels[pair.slice(0, pair.indexOf('='))] === pair.slice(pair.indexOf('=') + 1))
}

function isField(selector: Selection['fieldSelector'], name: string): boolean {
  return selector === '' || selector === `metadata.name=${name}`
}
