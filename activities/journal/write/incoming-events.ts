// Reduces events of watches, lists and write answers to the data that may enter the journal.

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
import { type LastManagers, lastManagers } from '../../kube/managed-fields.ts'
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

/** A deletion without a DELETED event: a list of version `listVersion` does not contain the object. */
export interface MissedDeletion {
  readonly watched: WatchedKind
  readonly missing: { readonly uid: string; readonly namespace: string; readonly name: string }
  readonly listVersion: number
}

export type BatchEvent = ObjectEvent | MissedDeletion

/** An event reduced to the data that may enter the journal. */
export interface IncomingEvent extends GroupKind {
  readonly uid: string
  readonly namespace: string
  readonly name: string
  readonly type: EventType
  /** Version of the object; of the list for a missed deletion. */
  readonly resourceVersion: number
  readonly missed: boolean
  /** The kind is not watched, so a deletion would be missed: no state is stored. */
  readonly unfollowed: boolean
  readonly ownerUid: string | undefined
  /** Empty for a missed deletion: the stored projection stays. */
  readonly projection: Projection
  readonly hash: string | undefined
  readonly managers: LastManagers
}

/**
 * Reduces an event to the data that may enter the journal.
 *
 * @throws a plain Error when the object has no uid or no numeric resourceVersion, which no API server sends.
 */
export function reduceEvent(
  event: BatchEvent,
  source: string,
  { contentKey, now }: { readonly contentKey: Buffer | undefined; readonly now: () => Date },
): IncomingEvent {
  const { watched } = event
  if ('missing' in event) {
    const { listVersion, missing } = event
    const absent = {
      missed: true,
      unfollowed: watched.unfollowed === true,
      ownerUid: undefined,
      projection: {},
      hash: undefined,
      managers: {},
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
    // The row of an own write names the run.
    managers: source === 'write' ? {} : lastManagers(metadata, now()),
  }
}

/** The projection of an object as stored in the journal. */
export function projectionOf({ watched, object }: ObjectEvent): Projection {
  const projection = withFlow(hashLongAnnotations(projectObject(object, watched.projection)), watched, object)
  return cleanJson(withIndexKeys(projection, watched.indexKeys, object))
}

/**
 * Whether a write's answer means that the object is deleted: the answer to removing the last finalizer shows the object
 * although the server has deleted it. Namespaces have further finalizers in their spec.
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
  throw new Error(`${watched.kind} ${namespace}/${name}: resourceVersion: found "${text}"; expected a number`)
}

// The longest annotation that the engine reads is `pawl.dev/made-for` with at most 635 characters. Kubernetes allows
// 256 kB, which every event would repeat.
const LONGEST = 1024

/** Replaces values of annotations that are too long by a hash, so that changes stay visible. */
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

/** A text of this length cannot be guessed, so the hash needs no key. */
function hashText(value: string): string {
  return `${value.length} characters, SHA-256 ${createHash('sha256').update(value).digest('base64url')}`
}
