// What arrives at the journal: events as the API server or a write's answer tells them, reduced to what may be kept.

import {
  type GroupKind,
  groupKindOf,
  type Projection,
  projectObject,
  type WatchedKind,
  withIndexKeys,
} from '../../../workflows/kit/index.ts'
import type { KubeObject } from '../../kube/client.ts'
import { withBoundAnnotations } from '../bounded-annotations.ts'
import { cleanJson } from '../clean-text.ts'
import { contentHash } from '../content-key.ts'
import { withFlow } from '../flow-keys.ts'

export type EventType = 'ADDED' | 'MODIFIED' | 'DELETED'

/** An event with its object. */
export interface SeenEvent {
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

export type BatchEvent = SeenEvent | MissedDeletion

/** An event as the rules of the journal see it. */
export interface Incoming extends GroupKind {
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
export function readEvent(event: BatchEvent, source: string, contentKey: Buffer | undefined): Incoming {
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
    uid: required(metadata.uid, 'uid', event),
    namespace: metadata.namespace ?? '',
    name: metadata.name,
    type: source === 'write' && isGone(event.object) ? 'DELETED' : event.type,
    resourceVersion: parseVersion(required(metadata.resourceVersion, 'resourceVersion', event), event),
    missed: false,
    unfollowed: watched.unfollowed === true,
    ownerUid: metadata.ownerReferences?.find(({ controller }) => controller === true)?.uid,
    projection: projectionOf(event),
    hash: contentHash(event.object, watched.hashed, contentKey),
  }
}

/** The declared fields of an object, as the journal keeps them. */
export function projectionOf({ watched, object }: SeenEvent): Projection {
  const projection = withFlow(withBoundAnnotations(projectObject(object, watched.projection)), watched, object)
  return cleanJson(withIndexKeys(projection, watched.indexKeys, object))
}

/**
 * The answer to the write that removes the last finalizer shows the object as it was asked to be; the server has deleted it. Namespaces have further
 * finalizers in their spec.
 */
function isGone({ metadata, spec }: KubeObject & { readonly spec?: { readonly finalizers?: unknown } }): boolean {
  if (Array.isArray(spec?.finalizers) && spec.finalizers.length > 0) return false
  const grace = 'deletionGracePeriodSeconds' in metadata ? metadata.deletionGracePeriodSeconds : 0
  return metadata.deletionTimestamp !== undefined && (metadata.finalizers ?? []).length === 0 && grace === 0
}

function required(value: string | undefined, field: string, { watched, object }: SeenEvent): string {
  if (value !== undefined && value !== '') return value
  throw new Error(
    `${watched.kind} ${object.metadata.namespace ?? ''}/${object.metadata.name}: found no metadata.${field}`,
  )
}

function parseVersion(text: string, { watched, object }: SeenEvent): number {
  if (/^\d{1,15}$/.test(text)) return Number(text)
  const { namespace = '', name } = object.metadata
  throw new Error(`${watched.kind} ${namespace}/${name}: resourceVersion is "${text}", expected a number`)
}
