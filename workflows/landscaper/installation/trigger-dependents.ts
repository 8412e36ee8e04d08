// Last step of a root's job, after success and failure: starts jobs of the roots that import its exports. Source: spec/landscaper.md 2.3 "Final
// phases", 2.6.
//
//   T1. They are triggered before the job's end is written, so that a run that is lost in between triggers them again. A dependent that starts at
//       once waits for
//       that end.
//   T2. A job that failed because of an import cycle triggers no dependents: they would trigger each other forever.
//   T3. After a success, the activity that writes the exports triggers the dependents (write-exports.ts), which saves an activity.

import { done, type Outcome } from '../../kit/index.ts'
import type { InstallationPass } from './pass.ts'
import { endWait } from './told-waits.ts'

/** Code of the fault of a root that imports from itself through other roots. */
export const IMPORT_RING = 'ImportRing'

/** Whether other roots may import its exports, and it is not being deleted. */
export function hasDependents({ state: { target } }: Pick<InstallationPass, 'state'>): boolean {
  return target.gives === true && !target.hasParent && !target.deleting
}

export async function triggerDependents(pass: InstallationPass): Promise<Outcome> {
  // An interrupt ends waits, too.
  endWait(pass)
  const { by, subject, jobID, act, draft } = pass
  // T2, T3
  const isDone = draft.phase === 'Succeeded' || draft.lastError?.reason === IMPORT_RING
  if (!isDone && hasDependents(pass)) await act.triggerDependents({ by, subject, jobID })
  return done
}
