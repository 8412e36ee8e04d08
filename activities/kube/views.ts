// What workflows see of objects: names, states and versions; never bodies. Pure functions over objects as the API server has them.

import type { ErrorReport, TargetView } from '../../workflows/kit/index.ts'
import type { KubeObject } from './client.ts'

interface JobStatus {
  readonly phase?: string
  readonly jobID?: string
  readonly jobIDFinished?: string
  readonly observedGeneration?: number
  readonly lastError?: ErrorReport
}

/** The part of a subject that every job controller looks at. */
export function targetView(object: KubeObject): TargetView {
  const status = (object['status'] ?? {}) as JobStatus
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
export function ownerOf(object: KubeObject) {
  return object.metadata.ownerReferences?.find((reference) => reference.controller === true)
}

/** Under deletion with no finalizer left: the server has removed it with this write. */
export function isReleased({ metadata }: KubeObject): boolean {
  return metadata.deletionTimestamp !== undefined && (metadata.finalizers ?? []).length === 0
}
