// The two first writes of a root's job are made where the first pass looks (activities/landscaper/installation/start.ts). A run that was lost between
// them makes the second one here. Source: docs/architecture.md "A root's new job".

import { FINALIZER } from '../contract.ts'
import { BEGIN_OPERATION, done, type Outcome, stop, SUPERSEDED } from '../../kit/index.ts'
import type { InstallationPass } from './pass.ts'

export async function beginInstallation(pass: InstallationPass): Promise<Outcome> {
  const { state, jobID } = pass
  const { start, target } = state
  if (start === 'superseded' || target.jobID !== jobID) return stop(SUPERSEDED)
  // Defaults change the generation: the job runs the spec with its defaults in.
  if (start === 'begun') pass.draft.observedGeneration = target.generation
  if (start !== 'begun' && needsAdoption(pass)) return await adopt(pass)
  pass.state = { ...state, isAdopted: true }
  return done
}

// Before the first settle only: later the annotation belongs to the next job. A run that was started again in Init cannot tell from
// itself whether it has settled; an error in the status can, unless it is that of a job that could not begin.
function needsAdoption({ state: { target, isAdopted } }: InstallationPass): boolean {
  if (isAdopted || (target.phase !== 'Init' && target.phase !== 'InitDelete')) return false
  const isFirst = target.lastError === undefined || target.lastError.operation === BEGIN_OPERATION
  const isSameSpec = target.observedGeneration === target.generation
  const isRequestOurs = isFirst && target.reconcileRequested && isSameSpec
  const isUnprepared = !target.deleting && (!target.finalizers.includes(FINALIZER) || !target.hasContext)
  return isRequestOurs || isUnprepared
}

async function adopt(pass: InstallationPass): Promise<Outcome> {
  const { by, subject, jobID, state, act } = pass
  const adopted = await act.adoptInstallation({ by, subject, jobID, target: state.target })
  if (adopted === undefined) return stop(SUPERSEDED)
  pass.draft.observedGeneration = adopted.generation
  const target = { ...adopted, observedGeneration: state.target.observedGeneration }
  pass.state = { ...state, isAdopted: true, target }
  return done
}
