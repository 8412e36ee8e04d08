// Phase InitDelete: deletes the Execution and the sub-installations. Children with a deletion timestamp get the request to release their items, if it
// is set.
// Source: spec/landscaper.md 2.4.
//
//   D1. `kubectl delete --cascade=orphan` keeps the children. While Kubernetes' finalizer for it is on the Installation, the garbage collector is
//       removing
//       the children's owner references, so the step waits; afterwards the Installation has no children and is deleted alone. A child whose removed
//       reference
//       the journal does not show yet is not deleted either (activities/run/children.ts).

import { ORPHAN_FINALIZER } from '../contract.ts'
import { done, type Outcome, stop } from '../../kit/index.ts'
import type { InstallationPass } from './pass.ts'
import { absorbSubs, asChild } from './sub-installations.ts'

const ORPHANING = "waiting for Kubernetes' garbage collector to remove the owner references of the children"

export async function deleteChildren(pass: InstallationPass): Promise<Outcome> {
  const { by, subject, jobID, act } = pass
  const { withoutUninstall, finalizers } = pass.state.target
  if (finalizers.includes(ORPHAN_FINALIZER)) return stop(ORPHANING)
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
