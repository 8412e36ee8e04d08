// The two first writes of a root's job are made where the first pass looks (activities/landscaper/installation/start.ts). A run that was lost between
// them makes the second one here. Source: docs/architecture.md "A root's new job".
//
//   B1. Dependents that the original has left to be asked are asked first, also in a run without a job. Source: spec/landscaper.md 2.2 (sequence of
//       checks, 3).
//   B2. That an idle one is paused, or not any more, is told in a run without a job (pause.ts, Q2).

import { FINALIZER } from '../contract.ts'
import { BEGIN_OPERATION, done, FINALIZER_ADDED, isIdle, type Outcome, stop, SUPERSEDED } from '../../kit/index.ts'
import { isUntold } from '../pause.ts'
import type { InstallationPass } from './pass.ts'

export async function beginInstallation(pass: InstallationPass): Promise<Outcome> {
  if (pass.state.start === 'superseded') return stop(SUPERSEDED)
  const isOurs = pass.state.target.jobID === pass.jobID
  const hasLeft = pass.state.target.hasLeftDependents === true
  if (!isOurs && isIdle(pass.state.target) && isUntold(pass.state.target)) return await tell(pass)
  if (!isOurs && !(hasLeft && isIdle(pass.state.target))) return stop(SUPERSEDED)
  const end = hasLeft ? await askLeft(pass) : undefined
  return end !== undefined || !isOurs ? stop(end ?? FINALIZER_ADDED) : await beginOwn(pass)
}

/** The job is the run's. */
async function beginOwn(pass: InstallationPass): Promise<Outcome> {
  const { start, target } = pass.state
  // Defaults change the generation: the job runs the spec with its defaults in.
  if (start === 'begun') pass.draft.observedGeneration = target.generation
  if (start !== 'begun' && needsAdoption(pass)) return await adopt(pass)
  pass.state = { ...pass.state, isAdopted: true }
  return done
}

/** B2 */
async function tell({ by, subject, act }: InstallationPass): Promise<Outcome> {
  await act.tellPause({ by, subject })
  return stop(FINALIZER_ADDED)
}

/** Those that another engine has left to be asked, before anything else of the job. @returns how the run ends; undefined: it goes on. */
async function askLeft(pass: InstallationPass): Promise<string | undefined> {
  const { by, subject, jobID, state, act } = pass
  const now = await act.askLeftDependents({ by, subject, jobID })
  if (now === undefined) return SUPERSEDED
  const target = { ...now, observedGeneration: state.target.observedGeneration }
  pass.state = { ...state, target }
  return undefined
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
