// The two first writes of a root's job: status, then metadata. Two endpoints, so a crash between them must lead to exactly one job:
// the first write claims the job, the second is repeated until it is done. Source: docs/architecture.md "A root's new job".

import { FINALIZER } from '../contract.ts'
import { done, isIdle, type Outcome, stop, SUPERSEDED } from '../../kit/index.ts'
import type { InstallationPass } from './pass.ts'

export async function beginInstallation(pass: InstallationPass): Promise<Outcome> {
  const { by, subject, jobID, act } = pass
  if (pass.state.target.jobID !== jobID) {
    const { target } = pass.state
    if (!isIdle(target) || target.trigger === undefined) return stop(SUPERSEDED)
    const begun = await act.beginJob({ by, subject, jobID, target })
    if (begun === undefined) return stop(SUPERSEDED)
    // Absent fields do not travel: without its error, which begin has taken off, the target would keep that of the job before.
    pass.state = { ...pass.state, target: { ...target, ...begun, lastError: begun.lastError } }
    pass.draft.phase = begun.phase
    pass.draft.observedGeneration = begun.observedGeneration
    pass.draft.lastError = undefined
  }
  if (needsAdoption(pass)) return await adopt(pass)
  pass.state = { ...pass.state, isAdopted: true }
  return done
}

// Before the first settle only: later the annotation belongs to the next job. A run that was started again in Init cannot tell from
// itself whether it has settled; an error in the status can.
function needsAdoption({ state: { target, isAdopted } }: InstallationPass): boolean {
  if (isAdopted || (target.phase !== 'Init' && target.phase !== 'InitDelete')) return false
  const isFirst = target.lastError === undefined
  const isSameSpec = target.observedGeneration === target.generation
  const isRequestOurs = isFirst && (target.interruptRequested || (target.reconcileRequested && isSameSpec))
  const isUnprepared = !target.deleting && (!target.finalizers.includes(FINALIZER) || !target.hasContext)
  return isRequestOurs || isUnprepared
}

async function adopt(pass: InstallationPass): Promise<Outcome> {
  const { by, subject, jobID, state, act } = pass
  const adopted = await act.adoptInstallation({ by, subject, jobID, target: state.target })
  if (adopted === undefined) return stop(SUPERSEDED)
  // Defaults change the generation: the job runs the spec with its defaults in.
  pass.draft.observedGeneration = adopted.generation
  const target = { ...adopted, observedGeneration: state.target.observedGeneration }
  pass.state = { ...state, isAdopted: true, target }
  return done
}
