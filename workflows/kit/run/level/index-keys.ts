// What objects are selected by: their labels, and the fields that queries have in `fieldsFrom`. Who looks at a selection subscribes to what has its traits,
// so that others of the namespace wake nobody. Pure.
//
//   T1. A subscription names some of what its selection demands, never more: who is woken in vain looks, and finds nothing new; who is not woken would miss it.
//   T2. An object concerns whom it is selected by, and whom it was selected by before.
//   T3. What is not known may be anything: all traits of an object, or one of its fields. What a release keeps of fields another one may not have kept.

import { requiredLabels } from './label-selector.ts'
import { type Path, path, type Projection, valueAt } from '../../kind/projection.ts'
import type { Selection } from './query.ts'

/** A label as `app=shop`, that it is there as `app`, a field as `.involvedObject.name=web-1`: no key of a label begins with a dot. */
export type IndexKey = string

/** Which fields of a kind's objects are traits, beside their labels. */
export interface IndexKeySources {
  readonly fields: readonly string[]
}

/** What an event's object has and had (T2). */
export interface ObjectIndexKeys {
  readonly has: readonly IndexKey[]
  /** The fields that are known, now and before: `.involvedObject.name`. Of others it may have any (T3). */
  readonly fields: readonly string[]
}

// Where a projection has them. No field of an object is called so.
const KEPT = 'pawl.dev/traits'

// What is more is not kept (T3): labels are anybody's to write, and each event would repeat them.
const MOST_KEPT = 64
const LONGEST_KEPT = 4096

// Subscriptions are found by an index, whose rows hold 2,704 bytes. A label has 381 characters at most, all of them ASCII.
const MOST_DEMANDED = 4
const DEMANDED = /^[\x20-\x7e]{1,381}$/

/** The projection with the traits of the object, if its kind has any that are asked for. */
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
 * What an event's object has and had; undefined: not known (T3).
 *
 * @param previous the projection before the event; undefined: not known, unless it is the first of its object.
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

/** Some of the traits that whatever is selected has (T1). */
export function requiredIndexKeys({ labelSelector, fromFields = {} }: Selection): readonly IndexKey[] {
  const fields = Object.entries(fromFields).map(([field, value]) => `.${field}=${value}`)
  const labels = requiredLabels(labelSelector)
  // A value tells more apart than that there is one.
  const [values, keys] = [labels.filter((one) => one.includes('=')), labels.filter((one) => !one.includes('='))]
  const demanded = [...new Set([...fields, ...values.sort(), ...keys.sort()])]
  return demanded.filter((one) => DEMANDED.test(one)).slice(0, MOST_DEMANDED)
}

/** Whether an event's object may have, or have had, all of these. The journal's SQL says the same (expand.ts). */
export function mayMatch(traits: ObjectIndexKeys | undefined, demanded: readonly IndexKey[]): boolean {
  return demanded.every((one) => {
    if (traits === undefined || traits.has.includes(one)) return true
    return isField(one) && !traits.fields.includes(keyOf(one))
  })
}

function keptIn(projection: Projection): readonly IndexKey[] | undefined {
  const kept = valueAt(projection, AT)
  return Array.isArray(kept) ? kept.filter((one) => typeof one === 'string') : undefined
}

const AT: Path = [KEPT]

function keyOf(pair: IndexKey): string {
  return pair.slice(0, pair.indexOf('='))
}

function isField(one: IndexKey): boolean {
  return one.startsWith('.')
}
