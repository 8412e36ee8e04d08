// What workflows see of objects: names, states and versions; never bodies. Pure functions over objects as the API server has them.

import {
  type ErrorReport,
  ownerReferenceOf,
  type TargetView,
  type Kind,
  type ObjectOf,
  type WatchedKind,
} from '../../workflows/kit/index.ts'
import type { KubeObject, OwnerReference } from './client.ts'

interface JobStatus {
  readonly phase?: string
  readonly jobID?: string
  readonly jobIDFinished?: string
  readonly observedGeneration?: number
  readonly lastError?: ErrorReport
}

/** The status, by its fields; none when there is no status. The server has checked that it is an object. */
export function statusOf(object: KubeObject): Readonly<Record<string, unknown>> {
  return (object['status'] ?? {}) as Readonly<Record<string, unknown>>
}

/** The part of a subject that every job controller looks at. */
export function targetView(object: KubeObject): TargetView {
  const status: JobStatus = object['status'] ?? {}
  const { lastError } = status
  return {
    version: object.metadata.resourceVersion ?? '',
    generation: object.metadata.generation ?? 0,
    deleting: object.metadata.deletionTimestamp !== undefined,
    finalizers: object.metadata.finalizers ?? [],
    phase: status.phase,
    jobID: status.jobID,
    jobIDFinished: status.jobIDFinished,
    observedGeneration: status.observedGeneration ?? 0,
    lastError: lastError && { operation: lastError.operation, reason: lastError.reason, message: lastError.message },
  }
}

/** The controller owner reference, if any. */
export function ownerOf(object: Pick<KubeObject, 'metadata'>): OwnerReference | undefined {
  return ownerReferenceOf(object)
}

/** Under deletion with no finalizer left: the server has removed it with this write. */
export function isDeletedWithoutFinalizers({ metadata }: KubeObject): boolean {
  return metadata.deletionTimestamp !== undefined && (metadata.finalizers ?? []).length === 0
}

// Objects of a kind as the API server has stored them, by the kind that was asked for.

/** The type that a kind's definition derives; any object for kinds that are known by their names and paths only. */
export type StoredAs<Watched extends WatchedKind> = Watched extends Kind ? ObjectOf<Watched> : KubeObject

/**
 * What the server answered about an object of this kind, as that. No cast but this one: the server has checked the object against the CRD
 * that is generated from the same definition.
 */
export function storedAs<Watched extends WatchedKind>(_watched: Watched, object: KubeObject): StoredAs<Watched> {
  return object as unknown as StoredAs<Watched>
}
