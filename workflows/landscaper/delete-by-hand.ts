// What the deletion of an idle Execution or DeployItem asks for. A job ID that comes from its owner, or from the hand that deletes it: what it deployed
// goes with a job that somebody has asked for. Two need none: that whose owner is gone, for nobody is left to give one, and that which no job has
// touched, for it has nothing to take away. Source: spec/landscaper.md 2.2, 2.4, 2.8.

import { ownerReferenceOf, path, textAt, type WantedRun } from '../kit/index.ts'

/** @param parent the kind whose job IDs it gets, as sentences name it. */
export function deletionRun(idle: object, ownerGone: boolean, parent: string): WantedRun {
  if (!ownerGone) return { none: `deletion waits for the job ID of the ${parent}` }
  if (textAt(idle, path('status.phase')) === 'DeleteFailed') return { none: 'deletion failed' }
  if (ownerReferenceOf(idle) !== undefined) return { jobID: undefined, cause: 'deletion without owner' }
  return isUntouched(idle) ? { jobID: undefined, cause: 'deletion of what no job has touched' } : WAITS
}

const isUntouched = (idle: object): boolean =>
  ['status.phase', 'status.jobID', 'status.jobIDFinished'].every((at) => (textAt(idle, path(at)) ?? '') === '')

const WAITS: WantedRun = {
  none: 'deletion waits for a job ID',
  warning: {
    operation: 'Delete',
    reason: 'DeletionWaitsForJobID',
    message:
      'it has no owner: its deletion begins when status.jobID is set to a new ID, which takes away what it has deployed',
  },
}
