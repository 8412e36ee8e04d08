// InitDelete: deletes the Execution and the sub-installations, or tells those that are being deleted already to let their items go.
// Source: spec/landscaper.md 2.4.

import { done, type Outcome } from '../../kit/index.ts'
import type { InstallationPass } from './pass.ts'
import { absorbSubs, asChild } from './sub-installations.ts'

export async function deleteChildren(pass: InstallationPass): Promise<Outcome> {
  const { by, subject, jobID, act } = pass
  const { withoutUninstall } = pass.state.target
  const isToTell = (child: { readonly deleting: boolean; readonly withoutUninstall: boolean }) =>
    !child.deleting || (withoutUninstall && !child.withoutUninstall)
  const { execution, subInstallations } = pass.state
  if (execution !== undefined && isToTell(execution)) {
    const left = await act.deleteExecution({ by, subject, execution, withoutUninstall })
    pass.state = { ...pass.state, execution: left }
  }
  const subs = subInstallations.filter(isToTell).map(asChild)
  if (subs.length > 0)
    absorbSubs(pass, await act.deleteSubInstallations({ by, subject, jobID, subInstallations: subs, withoutUninstall }))
  return done
}
