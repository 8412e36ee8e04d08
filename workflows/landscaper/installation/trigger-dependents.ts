// The end of a root's job, well or not: the roots that import what it exports get a job, too. Source: spec/landscaper.md 2.3 "Final phases", 2.6.
//
//   T1. They are asked before the job's end is written: a run that is lost in between has a job to go on with, and asks again. One that begins at once
//       waits for that end.
//   T2. Who failed because of a ring asks nobody: a ring would ask itself for ever.
//   T3. Where the job ends well, this is done where the exports are written (write-exports.ts): one activity less.

import { done, type Outcome } from '../../kit/index.ts'
import type { InstallationPass } from './pass.ts'
import { endWait } from './told-waits.ts'

/** Code of the fault of a root that imports, over others, from itself. */
export const IMPORT_RING = 'ImportRing'

/** Other roots may import what it exports, and it stays. */
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
