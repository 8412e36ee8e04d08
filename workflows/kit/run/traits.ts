// What objects are selected by: their labels, and the fields that queries have in `fieldsFrom`. Who looks at a selection subscribes to what has its traits,
// so that others of the namespace wake nobody. Pure.
//
//   T1. A subscription names some of what its selection demands, never more: who is woken in vain looks, and finds nothing new; who is not woken would miss it.
//   T2. An object concerns whom it is selected by, and whom it was selected by before.
//   T3. Of what an object is selected by all is known, or nothing is: then everybody who subscribed to its kind there is concerned.

import { demandedLabels } from './label-selector.ts'
import { type Path, path, type Projection, textAt, valueAt } from '../kind/projection.ts'
import type { Selection } from './query.ts'

/** A label as `app=shop`, that it is there as `app`, a field as `.involvedObject.name=web-1`: no key of a label begins with a dot. */
export type Trait = string

/** What of a kind's objects are traits, beside their labels. Undefined of a kind: none of its objects' traits is remembered. */
export interface TraitSources {
  readonly fields: readonly string[]
}

/** Where a projection has them. */
const KEPT: Path = ['traits']

// What is more is not kept (T3): labels are anybody's to write, and each event would repeat them.
const MOST_KEPT = 64
const LONGEST_KEPT = 4096

// Subscriptions are found by an index; one label may have 317 characters.
const MOST_DEMANDED = 4

/** The projection with the traits of the object, if its kind has any that are asked for. */
export function withTraits(projection: Projection, sources: TraitSources | undefined, object: object): Projection {
  if (sources === undefined) return projection
  const labels = Object.entries(valueAt(object, path('metadata.labels')) ?? {})
  const fields = sources.fields.map((field) => [`.${field}`, textAt(object, path(field)) ?? ''])
  const traits = [...labels, ...fields].map(([key, value]) => `${key}=${String(value)}`).sort()
  const isKept = traits.length <= MOST_KEPT && traits.join('').length <= LONGEST_KEPT
  return isKept ? { ...projection, [KEPT.join()]: traits } : projection
}

/**
 * What an event's object has and had (T2); undefined: not known (T3).
 *
 * @param previous the projection before the event; undefined: not known, unless it is the first of its object.
 */
export function traitsIn(event: {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'
  readonly projection: Projection
  readonly previous: Projection | undefined
}): readonly Trait[] | undefined {
  const { type, projection, previous } = event
  const isFirst = previous === undefined && type === 'ADDED'
  const [now, before] = [keptIn(projection), isFirst ? [] : keptIn(previous ?? {})]
  if (now === undefined || before === undefined) return undefined
  const pairs = [...new Set([...now, ...before])]
  return [...pairs, ...new Set(pairs.map(keyOf))]
}

/** Some of the traits that whatever is selected has (T1). */
export function demandedBy({ labelSelector, fromFields = {} }: Selection): readonly Trait[] {
  const fields = Object.entries(fromFields).map(([field, value]) => `.${field}=${value}`)
  const labels = demandedLabels(labelSelector)
  // A value tells more apart than that there is one.
  const [values, keys] = [labels.filter((one) => one.includes('=')), labels.filter((one) => !one.includes('='))]
  const demanded = [...new Set([...fields, ...values.sort(), ...keys.sort()])]
  return demanded.filter((one) => one.length <= LONGEST_DEMANDED).slice(0, MOST_DEMANDED)
}

// The longest label. A field may be any text.
const LONGEST_DEMANDED = 317

function keptIn(projection: Projection): readonly Trait[] | undefined {
  const kept = valueAt(projection, KEPT)
  return Array.isArray(kept) ? kept.filter((one) => typeof one === 'string') : undefined
}

function keyOf(pair: Trait): Trait {
  return pair.slice(0, pair.indexOf('='))
}
