// Completing: the imports must still be those of Init; then copies of imports that are none any more go, and what spec.exports lists is
// published. Source: spec/landscaper.md 2.3 "Completing".

import { done, type Outcome } from '../../kit/index.ts'
import { EXPORTS_CONDITION } from './kind.ts'
import type { InstallationPass } from './pass.ts'

export async function writeExports({ by, subject, jobID, act, draft, state }: InstallationPass): Promise<Outcome> {
  const { exports, generation } = state.target
  // Of this pass, when all phases fold into one.
  const found = draft.fields['importsHash']
  const importsHash = typeof found === 'string' ? found : state.target.importsHash
  if (!exports && importsHash === undefined) return done
  const hasItemExports = state.execution?.hasExports === true
  const hasSubInstallations = state.subInstallations.length > 0
  const { imports } = await act.writeExports({
    ...{ by, subject, jobID, generation, importsHash, hasItemExports, hasSubInstallations },
  })
  if (!imports && importsHash !== undefined) draft.fields['importsHash'] = null
  if (!exports) return done
  const message = 'what the installation lists in spec.exports is published'
  draft.conditions.push({ type: EXPORTS_CONDITION, status: 'True', reason: 'DataObjectsCreated', message })
  return done
}
