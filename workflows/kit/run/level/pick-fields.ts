// Reduces an object to the fields of a query. Pure; runs inside the activity, so that other fields never enter the history.

import { type Path, valueAt } from '../../kind/projection.ts'
import type { JsonObject } from './level-pass.ts'
import { referencePath } from './query.ts'

/** Fields that identify an object for later writes; always included. */
const IDENTITY: readonly Path[] = [
  ['apiVersion'],
  ['kind'],
  ...['name', 'namespace', 'uid', 'resourceVersion', 'deletionTimestamp'].map((key) => ['metadata', key]),
]

/** Returns the object with its identity and these fields, such as `status.phase`; paths do not reach into lists. */
export function pickFields(object: object, paths: readonly string[]): JsonObject {
  const picked = {}
  for (const at of [...IDENTITY, ...paths.map(referencePath)]) {
    const value = valueAt(object, at)
    if (value !== undefined) put(picked, at, value)
  }
  return picked as JsonObject
}

function put(into: Record<string, unknown>, [key = '', ...rest]: Path, value: unknown): void {
  if (rest.length === 0) {
    into[key] = value
    return
  }
  const before = Object.hasOwn(into, key) ? into[key] : undefined
  // A copy: a shorter path may have put the object's own value here.
  const child: Record<string, unknown> = typeof before === 'object' && before !== null ? { ...before } : {}
  into[key] = child
  put(child, rest, value)
}
