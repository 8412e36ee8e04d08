// Is an event news? Pure rules over what the journal knows of the object.
//
//   C1. Per uid the version never goes back (inside an epoch; a new one may rewind the rows first, see checkpoints.ts).
//   C2. Whatever is no news says why: stale (known or overtaken) or ignored (nothing declared changed).
//   C3. Of the version that is known, a list tells what the journal has otherwise: a former release, which kept other fields, wrote it down.
//   C4. A deletion concluded from a list is revived by an event of the same version; a seen one is not.
//   C5. What was seen gone stays gone, whatever newer version comes in late: the answer to a release repeats the version that the run knew, and others may
//       have written the object since. Only a list, of a cluster that went back in time, knows better.

import { canonicalJson, type GroupKind, type Projection } from '../../../workflows/kit/index.ts'
import type { IncomingEvent } from './incoming-events.ts'

/** What the journal knows of an object. */
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
  /** Says nothing new. `overtaken`: a newer state is known, and this version may have been somebody else's change. */
  | { readonly outcome: 'stale'; readonly reason: string; readonly overtaken: boolean }
  /** Newer, but nothing declared changed; the row moves on to the version. */
  | { readonly outcome: 'unchanged'; readonly reason: string; readonly next: ObjectState }
  | { readonly outcome: 'changed'; readonly next: ObjectState }

/** @param isListed it was read just now: what the server has is what the event says (C3). */
export function classify(known: ObjectState | undefined, event: IncomingEvent, isListed = false): Classification {
  if (event.missed) return classifyMissed(known, event)
  const next = stateAfter(event)
  if (known === undefined) return { outcome: 'changed', next }
  if (event.resourceVersion < known.resourceVersion) return stale(`version ${known.resourceVersion} is known`, true)
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
  // The answer to a delete, and to the write that removes the last finalizer, repeats the last version.
  const deletes = event.type === 'DELETED' && !known.deleted
  const revives = event.type !== 'DELETED' && known.presumedDeleted
  const corrects = isListed && !known.deleted && !sameProjection(known, next)
  return deletes || revives || corrects ? { outcome: 'changed', next } : stale('this version is known', false)
}

function classifyMissed(known: ObjectState | undefined, event: IncomingEvent): Classification {
  if (known === undefined) return stale('the object was never known', false)
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

/** Whether both have the same values in the declared fields. */
export function sameProjection(one: Pick<ObjectState, 'projection'>, other: Pick<ObjectState, 'projection'>): boolean {
  return canonicalJson(one.projection) === canonicalJson(other.projection)
}

function stale(reason: string, overtaken: boolean): Classification {
  return { outcome: 'stale', reason, overtaken }
}
