// What objects of one kind hand to each other, as the journal keeps it: keys of a fixed length, so that an index finds who gives and who takes.
//
//   F1. A key is of a name in a namespace: the same name elsewhere is another key, and is found by nobody here.
//   F2. So many names an object may have as keep its row small; those beyond are nobody's to find.

import { createHash } from 'node:crypto'
import { type Flow, type Projection, valueAt, type WatchedKind } from '../../workflows/kit/index.ts'

/** F2 */
export const MOST_FLOW_NAMES = 1000

const KEY_LENGTH = 16

/** F1 */
export function flowKey(namespace: string, name: string): string {
  return createHash('sha256').update(`${namespace} ${name}`).digest('base64url').slice(0, KEY_LENGTH)
}

/** The keys of names, each once. */
export function flowKeys(namespace: string, names: readonly string[]): readonly string[] {
  return [...new Set(names)].slice(0, MOST_FLOW_NAMES).map((name) => flowKey(namespace, name))
}

/** The projection with the keys of what the object gives and takes, if it does. */
export function withFlow(
  projection: Projection,
  { flow }: WatchedKind,
  object: { readonly metadata: { readonly namespace?: string | undefined } },
): Projection {
  const found = flow?.(object)
  if (found === undefined || found.gives.length + found.takes.length === 0) return projection
  const { namespace = '' } = object.metadata
  return { ...projection, flow: { gives: flowKeys(namespace, found.gives), takes: flowKeys(namespace, found.takes) } }
}

/** The keys that a projection has. */
export function flowIn(projection: object): Flow {
  return { gives: keysAt(projection, 'gives'), takes: keysAt(projection, 'takes') }
}

function keysAt(projection: object, way: keyof Flow): readonly string[] {
  const found = valueAt(projection, ['flow', way])
  return Array.isArray(found) ? found.filter((key) => typeof key === 'string') : []
}
