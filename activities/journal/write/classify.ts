// Classifies an event against the journaled state of its object: changed, unchanged or stale. Pure.
//
//   C1. The version of a uid never decreases within an epoch; a new epoch may first reset the rows (checkpoints.ts).
//   C2. Each event without a change has a reason: stale (known or overtaken) or ignored (no declared field changed).
//   C3. A list may correct the projection of a known version, because a previous release may have journaled other
//       fields.
//   C4. An event of the same version revives an object whose deletion was concluded from a list, but not one whose
//       DELETED event was received.
//   C5. After a DELETED event the object stays deleted, whatever newer version arrives late: the answer to removing the
//       last finalizer repeats the version that the run knew, and others may have written since. Only a list revives it
//       (the cluster was restored).

import { canonicalJson, type GroupKind, type Projection } from '../../../workflows/kit/index.ts'
import type { IncomingEvent } from './incoming-events.ts'

/** The journaled state of an object. */
export interface ObjectState extends GroupKind {
  readonly uid: string
  readonly namespace: string
  readonly name: string
  readonly ownerUid: string | undefined
  readonly resourceVersion: number
  readonly projection: Projection
  readonly hash: string | undefined
  readonly deleted: boolean
  readonly presumedDeleted: boolean
}

export type Classification =
  /** Not new. `overtaken`: a newer state is known, and this version may have been another writer's change. */
  | { readonly outcome: 'stale'; readonly reason: string; readonly overtaken: boolean }
  /** Newer, but no declared field changed; the row takes the version. */
  | { readonly outcome: 'unchanged'; readonly reason: string; readonly next: ObjectState }
  | { readonly outcome: 'changed'; readonly next: ObjectState }

/**
 * Classifies an event.
 *
 * @param isListed the object was just listed, so the server's state equals that event's state (C3).
 */
export function classify(known: ObjectState | undefined, event: IncomingEvent, isListed = false): Classification {
  if (event.missed) return classifyMissed(known, event)
  const next = stateAfter(event)
  if (known === undefined) return { outcome: 'changed', next }
  if (event.resourceVersion < known.resourceVersion)
    return stale(`the journal has version ${known.resourceVersion}`, true)
  if (event.resourceVersion === known.resourceVersion) return classifyEqual(known, { event, isListed }, next)
  if (next.deleted && known.deleted) return { outcome: 'unchanged', reason: 'already deleted', next }
  if (known.deleted && !known.presumedDeleted && !isListed)
    return { outcome: 'unchanged', reason: 'seen gone before', next: { ...next, deleted: true } }
  if (sameState(known, next)) return { outcome: 'unchanged', reason: 'nothing declared changed', next }
  return { outcome: 'changed', next }
}

interface EventToClassify {
  readonly event: IncomingEvent
  readonly isListed: boolean
}

function classifyEqual(known: ObjectState, { event, isListed }: EventToClassify, next: ObjectState): Classification {
  // The answers to a delete and to removing the last finalizer repeat the last version.
  const deletes = event.type === 'DELETED' && !known.deleted
  const revives = event.type !== 'DELETED' && known.presumedDeleted
  const corrects = isListed && !known.deleted && !sameProjection(known, next)
  return deletes || revives || corrects ? { outcome: 'changed', next } : stale('this version is known', false)
}

function classifyMissed(known: ObjectState | undefined, event: IncomingEvent): Classification {
  if (known === undefined) return stale('the journal does not have the object', false)
  if (known.deleted) return stale('already deleted', false)
  if (known.resourceVersion > event.resourceVersion) return stale('newer than the list', false)
  return { outcome: 'changed', next: { ...known, deleted: true, presumedDeleted: true } }
}

function stateAfter(event: IncomingEvent): ObjectState {
  const { group, kind, uid, namespace, name, ownerUid, resourceVersion, projection, hash } = event
  const state = { group, kind, uid, namespace, name, ownerUid, resourceVersion, projection, hash }
  return { ...state, deleted: event.type === 'DELETED', presumedDeleted: false }
}

function sameState(known: ObjectState, next: ObjectState): boolean {
  return known.deleted === next.deleted && known.hash === next.hash && sameProjection(known, next)
}

/** Whether two states have the same values in the declared fields. */
export function sameProjection(one: Pick<ObjectState, 'projection'>, other: Pick<ObjectState, 'projection'>): boolean {
  return canonicalJson(one.projection) === canonicalJson(other.projection)
}

/** True if the journaled fields outside of the status equal the fields of the previous version. */
export function isStatusChange(
  before: Pick<ObjectState, 'projection' | 'hash'> | undefined,
  { projection, hash }: Pick<ObjectState, 'projection' | 'hash'>,
): boolean {
  if (before?.hash !== hash || before === undefined) return false
  const [one, other] = [before.projection, projection].map((fields) => canonicalJson({ ...fields, status: null }))
  return one === other
}

function stale(reason: string, overtaken: boolean): Classification {
  return { outcome: 'stale', reason, overtaken }
}
