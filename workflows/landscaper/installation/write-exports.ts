// Phase Completing: checks that the imports are unchanged since Init, removes copies of former imports, publishes spec.exports, and triggers the
// importers
// before the end of the job is written (trigger-dependents.ts). Source: spec/landscaper.md 2.3 "Completing".

import { done, type Outcome } from '../../kit/index.ts'
import { EXPORTS_CONDITION } from './kind.ts'
import type { InstallationPass } from './pass.ts'
import { hasDependents } from './trigger-dependents.ts'

export async function writeExports(pass: InstallationPass): Promise<Outcome> {
  const { by, subject, jobID, act, draft, state } = pass
  const { exports, generation } = state.target
  // Set by this pass if all phases run in one pass.
  const found = draft.fields['importsHash']
  const importsHash = typeof found === 'string' ? found : state.target.importsHash
  // True also without exports, as in Landscaper.
  const published = exports
    ? 'what the installation lists in spec.exports is published'
    : 'the installation exports nothing'
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
