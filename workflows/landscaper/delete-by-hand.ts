// The run for the deletion of an idle Execution or DeployItem. A job ID comes from the owner, or from the user who deletes the object. Three kinds of
// objects
// need none: an object whose owner is deleted, an object that lost its owner reference (`kubectl delete --cascade=orphan` of the owner), and an object
// that no
// job has touched. Source: spec/landscaper.md 2.2, 2.4, 2.8.

import { ownerReferenceOf, type Path, path, textAt, type RunRequest } from '../kit/index.ts'

interface Parent {
  /** The kind that hands down the object's job IDs, for messages. */
  readonly name: string
  /** Only parents write this field of their children: an object with the field and without an owner is an orphan. */
  readonly mark: Path
}

export function deletionRun(idle: object, ownerGone: boolean, { name: parent, mark }: Parent): RunRequest {
  if (!ownerGone) return { none: `deletion waits for the job ID of the ${parent}` }
  if (textAt(idle, path('status.phase')) === 'DeleteFailed') return { none: 'deletion failed' }
  if (ownerReferenceOf(idle) !== undefined) return { jobID: undefined, cause: 'deletion without owner' }
  if (textAt(idle, mark) !== undefined) return { jobID: undefined, cause: 'deletion of an orphan' }
  return isUntouched(idle) ? { jobID: undefined, cause: 'deletion of what no job has touched' } : WAITS
}

const isUntouched = (idle: object): boolean =>
  ['status.phase', 'status.jobID', 'status.jobIDFinished'].every((at) => (textAt(idle, path(at)) ?? '') === '')

const WAITS: RunRequest = {
  none: 'deletion waits for a job ID',
  warning: {
    operation: 'Delete',
    reason: 'DeletionWaitsForJobID',
    message:
      'it has no owner: its deletion begins when status.jobID is set to a new ID, which takes away what it has deployed',
  },
}
