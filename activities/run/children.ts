// The hand of a parent on its children: a job ID, a request, a release, a deletion. Writes only; whoever sends them says in which step and what
// comes of them. Generic by kind; what annotations and statuses say is the wing's.
//
//   C1. Every write is on the version that the pass observed. What counts after a conflict is the object as it is now: one that is another by its
//       uid is left alone, and so is one whose job is not the one that the pass has seen, for then ours is over.
//   C2. A field that is so already is not written again.

import { isIdle, ownerReferenceOf, type StatusFields, type WatchedKind } from '../../workflows/kit/index.ts'
import type { KubeObject } from '../kube/client.ts'
import { targetView } from '../kube/views.ts'
import type { Patch, Write } from '../kube/write.ts'
import { finalizerPatch, reguard } from './finalize.ts'

/** An object as the pass observed it: a child, or the subject itself where a request is taken off it. */
export interface Observed<Watched extends WatchedKind = WatchedKind> {
  readonly watched: Watched
  readonly namespace: string
  readonly name: string
  readonly uid: string
  readonly version: string
}

/** What one controller asks of another by an annotation, in the wing's words. */
export interface Request {
  readonly annotation: string
  readonly value: string
}

/**
 * Hands a job ID down, in one write with what the wing says of a job that is handed down. A child that has it already stays as it is; one that
 * runs another job, or has run one meanwhile, supersedes the write: it is the late one of a worker that lost its job.
 */
export function handDown<Watched extends WatchedKind>(
  child: Observed<Watched> & { readonly jobID: string | undefined },
  jobID: string,
  fields: StatusFields,
): Write<Watched> {
  const patch = { status: { ...fields, jobID } }
  return {
    ...{ ...at(child), verb: 'patchStatus', version: child.version, patch },
    reapply(current) {
      if (current.metadata.uid !== child.uid) return 'superseded'
      const status = targetView(current)
      if (status.jobID === jobID) return 'done'
      return isIdle(status) && status.jobID === child.jobID ? patch : 'superseded'
    },
  }
}

/** Whether the object is asked for it. */
export function isAsked({ metadata }: KubeObject, { annotation, value }: Request): boolean {
  return metadata.annotations?.[annotation] === value
}

/** Puts a request on. @param isMeant whether it is still for the object, as that is when it is written. */
export function ask<Watched extends WatchedKind>(
  object: Observed<Watched>,
  request: Request,
  isMeant: (current: KubeObject) => boolean,
): Write<Watched> {
  const patch = { metadata: { annotations: { [request.annotation]: request.value } } }
  return annotate(object, patch, isMeant, (current) => isAsked(current, request))
}

/** Takes a request off; another that has come in its place stays. @param isMeant as for `ask`. */
export function withdraw<Watched extends WatchedKind>(
  object: Observed<Watched>,
  request: Request,
  isMeant: (current: KubeObject) => boolean,
): Write<Watched> {
  const patch = { metadata: { annotations: { [request.annotation]: null } } }
  return annotate(object, patch, isMeant, (current) => !isAsked(current, request))
}

function annotate<Watched extends WatchedKind>(
  object: Observed<Watched>,
  patch: Patch,
  isMeant: (current: KubeObject) => boolean,
  isDone: (current: KubeObject) => boolean,
): Write<Watched> {
  return {
    ...{ ...at(object), verb: 'patch', version: object.version, patch },
    reapply(current) {
      if (current.metadata.uid !== object.uid || !isMeant(current)) return 'superseded'
      return isDone(current) ? 'done' : patch
    },
  }
}

/** Lets a child go without its controller: the finalizer is taken off. */
export function release<Watched extends WatchedKind>(
  child: Observed<Watched> & { readonly finalizers: readonly string[] },
  finalizer: string,
): Write<Watched> {
  return {
    ...{ ...at(child), verb: 'patch', version: child.version },
    patch: finalizerPatch(finalizer, child.finalizers, false),
    reapply: (current) => reguard(current, child.uid, finalizer, false),
  }
}

/**
 * Deletes a child; its finalizer holds it until its own job has taken away what is its. A child that has lost its owner reference since the pass observed
 * it supersedes the write: `kubectl delete --cascade=orphan` of the parent keeps the children.
 */
export function remove<Watched extends WatchedKind>(child: Observed<Watched>): Write<Watched> {
  const isMeant = (current: KubeObject) => ownerReferenceOf(current) !== undefined
  return { ...at(child), verb: 'delete', uid: child.uid, version: child.version, isMeant }
}

/** Whether the object runs this job. */
export function isRunning(object: KubeObject, jobID: string): boolean {
  const target = targetView(object)
  return target.jobID === jobID && target.jobIDFinished !== jobID
}

function at<Watched extends WatchedKind>({ watched, namespace, name }: Observed<Watched>) {
  return { watched, namespace, name }
}
