// Phase Completing, and the end of a root's job: publishes the exports, and triggers the roots that import them.
//
// writeExports checks that the imports are unchanged since Init, removes copies of former imports, publishes spec.exports, and triggers the importers
// before the end of the job is written (T3). Source: spec/landscaper.md 2.3 "Completing".

import { done, type Outcome } from '../../kit/index.ts'
import { EXPORTS_CONDITION } from './kind.ts'
import type { InstallationPass } from './pass.ts'
import { clearWaits } from './wait-conditions.ts'

export async function writeExports(pass: InstallationPass): Promise<Outcome> {
  const { by, subject, jobID, act, draft, state } = pass
  const { exports, generation } = state.target
  // Set by this pass if all phases run in one pass.
  const found = draft.fields['importsHash']
  const importsHash = typeof found === 'string' ? found : state.target.importsHash
  // True also without exports, as in Landscaper.
  const published = exports ? 'the exports of spec.exports are published' : 'the installation exports nothing'
  const condition = {
    type: EXPORTS_CONDITION,
    status: 'True',
    reason: 'DataObjectsCreated',
    message: published,
  } as const
  if (!exports && importsHash === undefined) {
    draft.conditions.push(condition)
    return done
  }
  const hasItemExports = state.execution?.hasExports === true
  const hasSubInstallations = state.subInstallations.length > 0
  const { imports } = await act.writeExports({
    by,
    subject,
    jobID,
    generation,
    importsHash,
    hasItemExports,
    hasSubInstallations,
    ...(hasDependents(pass) && { asksDependents: true }),
  })
  if (!imports && importsHash !== undefined) draft.fields['importsHash'] = null
  draft.conditions.push(condition)
  return done
}

// Last step of a root's job, after success and failure: starts jobs of the roots that import its exports. Source: spec/landscaper.md 2.3 "Final
// phases", 2.6.
//
//   T1. They are triggered before the job's end is written, so that a run that is lost in between triggers them again. A dependent that starts at
//       once waits for that end.
//   T2. A job that failed because of an import cycle triggers no dependents: they would trigger each other forever.
//   T3. After a success, the activity that writes the exports triggers the dependents, which saves an activity.

/** Code of the fault of a root that imports from itself through other roots. */
export const IMPORT_CYCLE = 'ImportRing'

/** Whether other roots may import its exports, and it is not being deleted. */
export function hasDependents({ state: { target } }: Pick<InstallationPass, 'state'>): boolean {
  return target.gives === true && !target.hasParent && !target.deleting
}

export async function triggerDependents(pass: InstallationPass): Promise<Outcome> {
  // An interrupt ends waits, too.
  clearWaits(pass)
  const { by, subject, jobID, act, draft } = pass
  // T2, T3
  const isDone = draft.phase === 'Succeeded' || draft.lastError?.reason === IMPORT_CYCLE
  if (!isDone && hasDependents(pass)) await act.triggerDependents({ by, subject, jobID })
  return done
}
