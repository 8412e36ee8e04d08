// The writes of a parent to its children: assign a job ID, add or remove a request annotation, remove the finalizer, delete. The functions build the
// writes; the caller sends them. They work for every kind; the wing defines annotations and status fields.
//
//   C1. Each write is conditional on the version that the pass observed. After a conflict the current object decides: an object with another uid is not
//       written, and neither is an object with another job than the pass observed, because the pass's job has ended.
//   C2. A field that already has its value is not written again.

import { isIdle, ownerReferenceOf, type StatusFields, type WatchedKind } from '../../workflows/kit/index.ts'
import type { KubeObject } from '../kube/client.ts'
import { targetView } from '../kube/object-views.ts'
import type { Patch } from '../kube/merge-patch.ts'
import type { Write } from '../kube/write.ts'
import { finalizerPatch, finalizerPatchAfterConflict } from './finalize.ts'

/** An object as the pass observed it: a child, or the subject itself if a request is removed from it. */
export interface Observed<Watched extends WatchedKind = WatchedKind> {
  readonly watched: Watched
  readonly namespace: string
  readonly name: string
  readonly uid: string
  readonly version: string
}

/** A request of one controller to another, as an annotation that the wing defines. */
export interface AnnotationRequest {
  readonly annotation: string
  readonly value: string
}

/**
 * Writes the parent's job ID to a child, in one write with the status fields of the wing. A child that already has the job ID is not written. A child
 * that runs, or has run, another job supersedes the write: the writer is a worker that has lost its job.
 */
export function assignJob<Watched extends WatchedKind>(
  child: Observed<Watched> & { readonly jobID: string | undefined },
  jobID: string,
  fields: StatusFields,
): Write<Watched> {
  const patch = { status: { ...fields, jobID } }
  return {
    ...placeOf(child),
    verb: 'patchStatus',
    version: child.version,
    patch,
    reapply(current) {
      if (current.metadata.uid !== child.uid) return 'superseded'
      const status = targetView(current)
      if (status.jobID === jobID) return 'done'
      return isIdle(status) && status.jobID === child.jobID ? patch : 'superseded'
    },
  }
}

/** Whether the object has the request. */
export function hasRequest({ metadata }: KubeObject, { annotation, value }: AnnotationRequest): boolean {
  return metadata.annotations?.[annotation] === value
}

/** Adds a request. @param isMeant whether the current object should still get the request after a conflict. */
export function addRequest<Watched extends WatchedKind>(
  object: Observed<Watched>,
  request: AnnotationRequest,
  isMeant: (current: KubeObject) => boolean,
): Write<Watched> {
  const patch = { metadata: { annotations: { [request.annotation]: request.value } } }
  return annotate(object, patch, isMeant, (current) => hasRequest(current, request))
}

/** Removes a request; a different value of the annotation stays. @param isMeant as for `addRequest`. */
export function removeRequest<Watched extends WatchedKind>(
  object: Observed<Watched>,
  request: AnnotationRequest,
  isMeant: (current: KubeObject) => boolean,
): Write<Watched> {
  const patch = { metadata: { annotations: { [request.annotation]: null } } }
  return annotate(object, patch, isMeant, (current) => !hasRequest(current, request))
}

function annotate<Watched extends WatchedKind>(
  object: Observed<Watched>,
  patch: Patch,
  isMeant: (current: KubeObject) => boolean,
  isDone: (current: KubeObject) => boolean,
): Write<Watched> {
  return {
    ...placeOf(object),
    verb: 'patch',
    version: object.version,
    patch,
    reapply(current) {
      if (current.metadata.uid !== object.uid || !isMeant(current)) return 'superseded'
      return isDone(current) ? 'done' : patch
    },
  }
}

/** Removes the finalizer of a child's controller, so that the child is deleted without its controller. */
export function removeFinalizer<Watched extends WatchedKind>(
  child: Observed<Watched> & { readonly finalizers: readonly string[] },
  finalizer: string,
): Write<Watched> {
  return {
    ...placeOf(child),
    verb: 'patch',
    version: child.version,
    patch: finalizerPatch(finalizer, child.finalizers, false),
    reapply: (current) => finalizerPatchAfterConflict(current, child.uid, finalizer, false),
  }
}

/**
 * Deletes a child; its finalizer keeps it until its job has uninstalled it. A child that has lost its owner reference since the pass supersedes the
 * write: `kubectl delete --cascade=orphan` of the parent keeps the children.
 */
export function deleteChild<Watched extends WatchedKind>(child: Observed<Watched>): Write<Watched> {
  const isMeant = (current: KubeObject) => ownerReferenceOf(current) !== undefined
  return { ...placeOf(child), verb: 'delete', uid: child.uid, version: child.version, isMeant }
}

/** Whether the object runs this job. */
export function isRunning(object: KubeObject, jobID: string): boolean {
  const target = targetView(object)
  return target.jobID === jobID && target.jobIDFinished !== jobID
}

function placeOf<Watched extends WatchedKind>({ watched, namespace, name }: Observed<Watched>) {
  return { watched, namespace, name }
}
