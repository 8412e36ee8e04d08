// The runs of idle Executions and DeployItems that no parent triggers: to add the finalizer, and to delete the object.
//
// An object without parent is a root: it gets its finalizer when Pawl first sees it, not with its first job, so that its deletion waits for the job
// that uninstalls it. Objects with a parent are created with the finalizer. Source: spec/landscaper.md 2.2 (sequence of checks, 2).

import { FINALIZER } from './contract.ts'
import {
  type GroupKind,
  ownerOfKind,
  ownerReferenceOf,
  path,
  type Path,
  textAt,
  type JobTrigger,
  valueAt,
  type RunRequest,
} from '../kit/index.ts'

const FINALIZERS = path('metadata.finalizers')

/** The mark by which the resync selects such objects. */
export const LACKS_FINALIZER: JobTrigger = { path: FINALIZERS, lacks: FINALIZER }

/** A run that only adds the finalizer; it starts no job. */
export const FIRST_SEEN = { jobID: undefined, cause: 'first seen' } as const satisfies RunRequest

/** Whether the object has no parent, no finalizer and no deletion timestamp. Accepts objects and projections. */
export function lacksFinalizer(object: object, parent: GroupKind): boolean {
  const finalizers = valueAt(object, FINALIZERS)
  const isGuarded = Array.isArray(finalizers) && finalizers.includes(FINALIZER)
  const isDeleting = valueAt(object, path('metadata.deletionTimestamp')) !== undefined
  return !isGuarded && !isDeleting && ownerOfKind(object, parent) === undefined
}

// The run for the deletion of an idle Execution or DeployItem. A job ID comes from the owner, or from the user who deletes the object. Three kinds of
// objects need none: an object whose owner is deleted, an object that lost its owner reference (`kubectl delete --cascade=orphan` of the owner), and
// an object that no job has touched. Source: spec/landscaper.md 2.2, 2.4, 2.8.

interface ParentKind {
  /** The kind that hands down the object's job IDs, for messages. */
  readonly name: string
  /** Only parents write this field of their children: an object with the field and without an owner is an orphan. */
  readonly mark: Path
}

export function deletionRun(idle: object, ownerGone: boolean, { name: parent, mark }: ParentKind): RunRequest {
  if (!ownerGone) return { none: `deletion waits for the job ID of the ${parent}` }
  if (textAt(idle, path('status.phase')) === 'DeleteFailed') return { none: 'deletion failed' }
  if (ownerReferenceOf(idle) !== undefined) return { jobID: undefined, cause: 'deletion without owner' }
  if (textAt(idle, mark) !== undefined) return { jobID: undefined, cause: 'deletion of an orphan' }
  return isUntouched(idle) ? { jobID: undefined, cause: 'deletion of what no job has touched' } : WAITS_FOR_JOB_ID
}

const isUntouched = (idle: object): boolean =>
  ['status.phase', 'status.jobID', 'status.jobIDFinished'].every((at) => (textAt(idle, path(at)) ?? '') === '')

const WAITS_FOR_JOB_ID: RunRequest = {
  none: 'deletion waits for a job ID',
  warning: {
    operation: 'Delete',
    reason: 'DeletionWaitsForJobID',
    message: 'status.jobID: the object has no owner, so its deletion waits for a job; set a new job ID to uninstall it',
  },
}
