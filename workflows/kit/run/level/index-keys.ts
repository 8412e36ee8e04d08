// Index keys of objects: labels, and the fields in `fieldsFrom` of queries. A run subscribes to objects with the index
// keys of its selector, so that other objects of the namespace do not wake it. The journal stores index keys in
// projections and subscriptions under the older name `traits`. Pure.
//
//   T1. A subscription contains some of the keys that its selector requires and no others: an unnecessary wake is harmless, a missing wake loses a
//       change.
//   T2. An object wakes subscriptions that match it now or matched it before.
//   T3. Unknown keys match everything: an object without stored keys has unknown keys, and so have fields that an earlier release did not store.

import { requiredLabels } from './label-selector.ts'
import { type Path, path, type Projection, valueAt } from '../../kind/projection.ts'
import type { Selection } from './query.ts'

/** A label as `app=shop`, the existence of a label as `app`, a field as `.involvedObject.name=web-1`: label keys never start with a dot. */
export type IndexKey = string

/** The fields of a kind that are index keys, in addition to labels. */
export interface IndexKeySources {
  readonly fields: readonly string[]
}

/** The keys of an event's object, now and before (T2). */
export interface ObjectIndexKeys {
  readonly has: readonly IndexKey[]
  /** Fields with known values now and before, such as `.involvedObject.name`. Other fields may have any value (T3). */
  readonly fields: readonly string[]
}

// The field of the projection; no Kubernetes field has this name.
const KEPT = 'pawl.dev/traits'

// Larger sets are not stored (T3): users control labels, and every event would repeat them.
const MOST_KEPT = 64
const LONGEST_KEPT = 4096

// An index of PostgreSQL limits subscription rows to 2,704 bytes. A label has at most 381 ASCII characters.
const MOST_DEMANDED = 4
const DEMANDED = /^[\x20-\x7e]{1,381}$/

/** Adds the object's index keys to the projection, if its kind has any. */
export function withIndexKeys(
  projection: Projection,
  sources: IndexKeySources | undefined,
  object: object,
): Projection {
  if (sources === undefined) return projection
  const labels = Object.entries(valueAt(object, path('metadata.labels')) ?? {})
  const fields = sources.fields.map((field) => [`.${field}`, valueAt(object, path(field))] as const)
  const texts = [...labels, ...fields].filter(([, value]) => typeof value === 'string')
  const traits = texts.map(([key, value]) => `${key}=${String(value)}`).sort()
  const isKept = traits.length <= MOST_KEPT && traits.join('').length <= LONGEST_KEPT
  return isKept ? { ...projection, [KEPT]: traits } : projection
}

/**
 * The index keys of an event's object; undefined: unknown (T3).
 *
 * @param previous the projection before the event; undefined: unknown, unless the event is the first of its object.
 */
export function indexKeysOf(event: {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'
  readonly projection: Projection
  readonly previous: Projection | undefined
}): ObjectIndexKeys | undefined {
  const { type, projection, previous } = event
  const now = keptIn(projection)
  const before = previous === undefined && type === 'ADDED' ? now : keptIn(previous ?? {})
  if (now === undefined || before === undefined) return undefined
  const pairs = [...new Set([...now, ...before])]
  const keys = [...new Set(pairs.map(keyOf))]
  const [keysNow, keysBefore] = [now, before].map((some) => new Set(some.map(keyOf)))
  const fields = keys.filter((key) => isField(key) && keysNow?.has(key) === true && keysBefore?.has(key) === true)
  return { has: [...pairs, ...keys.filter((key) => !isField(key))], fields }
}

/** Index keys that every selected object has (T1). */
export function requiredIndexKeys({ labelSelector, fromFields = {} }: Selection): readonly IndexKey[] {
  const fields = Object.entries(fromFields).map(([field, value]) => `.${field}=${value}`)
  const labels = requiredLabels(labelSelector)
  // A value is more selective than the existence of a label.
  const [values, keys] = [labels.filter((one) => one.includes('=')), labels.filter((one) => !one.includes('='))]
  const demanded = [...new Set([...fields, ...values.sort(), ...keys.sort()])]
  return demanded.filter((one) => DEMANDED.test(one)).slice(0, MOST_DEMANDED)
}

/** Whether an event's object may have, or have had, all of these keys. The journal's SQL has the same rule (expand-routes.ts). */
export function mayMatch(traits: ObjectIndexKeys | undefined, demanded: readonly IndexKey[]): boolean {
  return demanded.every((one) => {
    if (traits === undefined || traits.has.includes(one)) return true
    return isField(one) && !traits.fields.includes(keyOf(one))
  })
}

function keptIn(projection: Projection): readonly IndexKey[] | undefined {
  const stored = valueAt(projection, AT)
  return Array.isArray(stored) ? stored.filter((one) => typeof one === 'string') : undefined
}

const AT: Path = [KEPT]

function keyOf(pair: IndexKey): string {
  return pair.slice(0, pair.indexOf('='))
}

function isField(one: IndexKey): boolean {
  return one.startsWith('.')
}
