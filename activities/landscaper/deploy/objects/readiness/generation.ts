// Determines the generation that a status describes. A status of an earlier generation does not describe fields that were written since. Pure.

import type { KubeObject } from '../../../../kube/client.ts'
import { type Fields, isMap } from './field-reader.ts'

const UNSEEN = 'its controller has not observed the latest spec'
const UNDATED = 'it changed a moment ago, and its status has no observedGeneration'

/**
 * The reason why the status cannot be used yet; undefined if it can.
 *
 * The status names its generation in `observedGeneration`, or its conditions do. If it names none, a status that is read together with the write may
 * be older than the write: it counts from the next attempt on.
 *
 * @param isChanged whether this attempt has changed the object.
 */
export function staleStatus(object: KubeObject, isChanged: boolean): string | undefined {
  const { generation } = object.metadata
  const { status } = object
  if (!isMap(status)) return undefined
  const observed = generationOf(status) ?? newest(conditionsOf(status).map(generationOf))
  if (observed !== undefined) return generation === undefined || observed === generation ? undefined : UNSEEN
  return isChanged ? UNDATED : undefined
}

/** The object without the conditions of earlier generations; the same object when it has none. */
export function withoutStaleConditions(object: KubeObject): KubeObject {
  const { generation = 0 } = object.metadata
  const { status } = object
  if (!isMap(status)) return object
  const conditions = conditionsOf(status)
  const current = conditions.filter((condition) => (generationOf(condition) ?? generation) >= generation)
  return current.length === conditions.length ? object : { ...object, status: { ...status, conditions: current } }
}

function conditionsOf({ conditions }: Fields): readonly Fields[] {
  return Array.isArray(conditions) ? conditions.filter(isMap) : []
}

// Argo Rollouts writes it as a text.
function generationOf({ observedGeneration: value }: Fields): number | undefined {
  const isCount = typeof value === 'number' || (typeof value === 'string' && /^\d{1,15}$/.test(value))
  return isCount ? Number(value) : undefined
}

function newest(generations: readonly (number | undefined)[]): number | undefined {
  const known = generations.filter((one) => one !== undefined)
  return known.length === 0 ? undefined : Math.max(...known)
}
