// Views of objects: names, states and versions for workflows, never bodies; and objects by the type of their kind.
// Pure.

import {
  bugReportIn,
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

/** The fields of the status; empty without a status. The server has checked that it is an object. */
export function statusOf(object: KubeObject): Readonly<Record<string, unknown>> {
  return (object['status'] ?? {}) as Readonly<Record<string, unknown>>
}

/** The fields of a subject that every job controller reads. */
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
    ...(bugReportIn(status) !== undefined && { reportsBug: true }),
  }
}

/** The controller owner reference, if any. */
export function ownerOf(object: Pick<KubeObject, 'metadata'>): OwnerReference | undefined {
  return ownerReferenceOf(object)
}

/** The object has a deletionTimestamp and no finalizer: the server has deleted it with this write. */
export function isDeletedWithoutFinalizers({ metadata }: KubeObject): boolean {
  return metadata.deletionTimestamp !== undefined && (metadata.finalizers ?? []).length === 0
}

/** The type derived from a kind's definition; any object for kinds without one. */
export type StoredAs<Watched extends WatchedKind> = Watched extends Kind ? ObjectOf<Watched> : KubeObject

/**
 * Returns an object of the server with the type of its kind. This is the only such cast: the server has validated the
 * object against the CRD generated from the same definition.
 */
export function storedAs<Watched extends WatchedKind>(_watched: Watched, object: KubeObject): StoredAs<Watched> {
  return object as unknown as StoredAs<Watched>
}
