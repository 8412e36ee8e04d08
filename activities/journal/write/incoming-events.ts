// What arrives at the journal: events as the API server or a write's answer tells them, reduced to what may be kept.

import {
  type GroupKind,
  groupKindOf,
  type Projection,
  projectObject,
  type WatchedKind,
  withIndexKeys,
  path,
  valueAt,
} from '../../../workflows/kit/index.ts'
import type { KubeObject } from '../../kube/client.ts'
import { cleanJson } from '../clean-text.ts'
import { contentHash } from '../content-key.ts'
import { withFlow } from '../flow.ts'
import { createHash } from 'node:crypto'

export type EventType = 'ADDED' | 'MODIFIED' | 'DELETED'

/** An event with its object. */
export interface ObjectEvent {
  readonly watched: WatchedKind
  readonly type: EventType
  readonly object: KubeObject
}

/** A deletion that nobody saw: a list of version `listVersion` lacks the object. */
export interface MissedDeletion {
  readonly watched: WatchedKind
  readonly missing: { readonly uid: string; readonly namespace: string; readonly name: string }
  readonly listVersion: number
}

export type BatchEvent = ObjectEvent | MissedDeletion

/** An event as the rules of the journal see it. */
export interface IncomingEvent extends GroupKind {
  readonly uid: string
  readonly namespace: string
  readonly name: string
  readonly type: EventType
  /** Of the object; of the list for a missed deletion. */
  readonly resourceVersion: number
  readonly missed: boolean
  /** Nobody would see it deleted: no state of it is remembered. */
  readonly unfollowed: boolean
  readonly ownerUid: string | undefined
  /** Empty for a missed deletion: the last known one stays. */
  readonly projection: Projection
  readonly hash: string | undefined
}

/**
 * Reduces an event to what may enter the journal.
 *
 * @throws a plain Error when the object has no uid or a resourceVersion that is no number: no API server sends that.
 */
export function reduceEvent(event: BatchEvent, source: string, contentKey: Buffer | undefined): IncomingEvent {
  const { watched } = event
  if ('missing' in event) {
    const { listVersion, missing } = event
    const absent = {
      missed: true,
      unfollowed: watched.unfollowed === true,
      ownerUid: undefined,
      projection: {},
      hash: undefined,
    } as const
    return { ...groupKindOf(watched), ...missing, type: 'DELETED', resourceVersion: listVersion, ...absent }
  }
  const { metadata } = event.object
  return {
    ...groupKindOf(watched),
    uid: requireText(metadata.uid, 'uid', event),
    namespace: metadata.namespace ?? '',
    name: metadata.name,
    type: source === 'write' && isDeletedByWrite(event.object) ? 'DELETED' : event.type,
    resourceVersion: parseVersion(requireText(metadata.resourceVersion, 'resourceVersion', event), event),
    missed: false,
    unfollowed: watched.unfollowed === true,
    ownerUid: metadata.ownerReferences?.find(({ controller }) => controller === true)?.uid,
    projection: projectionOf(event),
    hash: contentHash(event.object, watched.hashed, contentKey),
  }
}

/** The declared fields of an object, as the journal keeps them. */
export function projectionOf({ watched, object }: ObjectEvent): Projection {
  const projection = withFlow(hashLongAnnotations(projectObject(object, watched.projection)), watched, object)
  return cleanJson(withIndexKeys(projection, watched.indexKeys, object))
}

/**
 * The answer to the write that removes the last finalizer shows the object as it was asked to be; the server has deleted it. Namespaces have further
 * finalizers in their spec.
 */
function isDeletedByWrite({
  metadata,
  spec,
}: KubeObject & { readonly spec?: { readonly finalizers?: unknown } }): boolean {
  if (Array.isArray(spec?.finalizers) && spec.finalizers.length > 0) return false
  const grace = 'deletionGracePeriodSeconds' in metadata ? metadata.deletionGracePeriodSeconds : 0
  return metadata.deletionTimestamp !== undefined && (metadata.finalizers ?? []).length === 0 && grace === 0
}

function requireText(value: string | undefined, field: string, { watched, object }: ObjectEvent): string {
  if (value !== undefined && value !== '') return value
  throw new Error(
    `${watched.kind} ${object.metadata.namespace ?? ''}/${object.metadata.name}: found no metadata.${field}`,
  )
}

function parseVersion(text: string, { watched, object }: ObjectEvent): number {
  if (/^\d{1,15}$/.test(text)) return Number(text)
  const { namespace = '', name } = object.metadata
  throw new Error(`${watched.kind} ${namespace}/${name}: resourceVersion is "${text}", expected a number`)
}

// Annotations as the journal keeps them: Kubernetes takes 256 kB of them, and every event would repeat what a projection has of that.

// What anything decides by is shorter; the longest is `pawl.dev/made-for`, of at most 635 characters.
const LONGEST = 1024

/** The projection with a hash in place of each value that is too long to be kept: it is told apart from others, and says no more. */
export function hashLongAnnotations(projection: Projection): Projection {
  const annotations = valueAt(projection, path('metadata.annotations'))
  if (typeof annotations !== 'object' || annotations === null) return projection
  const entries = Object.entries(annotations)
  if (entries.every(([, value]) => !isTooLong(value))) return projection
  const bound = Object.fromEntries(entries.map(([key, value]) => [key, isTooLong(value) ? hashText(value) : value]))
  return { ...projection, metadata: { ...(projection['metadata'] as object), annotations: bound } }
}

function isTooLong(value: unknown): value is string {
  return typeof value === 'string' && value.length > LONGEST
}

/** Nothing that long can be guessed, so the hash needs no key. */
function hashText(value: string): string {
  return `${value.length} characters, SHA-256 ${createHash('sha256').update(value).digest('base64url')}`
}
