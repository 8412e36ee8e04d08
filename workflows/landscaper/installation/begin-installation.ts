// Starts a root's job. The activity of the first observation makes the job's first two writes (activities/landscaper/installation/start.ts). If a run
// was lost between both writes, this step repeats the second. Source: docs/concepts/architecture.md "A root's new job".
//
//   B1. Dependents that Landscaper has not triggered yet are triggered first, also in a run without a job. Source: spec/landscaper.md 2.2 (sequence
//       of checks, 3).
//   B2. A run without a job writes the pause of an idle Installation, or its end, into the status (pause.ts, Q2).

import { FINALIZER } from '../contract.ts'
import { BEGIN_OPERATION, done, FINALIZER_ADDED, isIdle, type Outcome, stop, SUPERSEDED } from '../../kit/index.ts'
import { isPauseUnreported } from '../pause.ts'
import type { InstallationPass } from './pass.ts'

export async function beginInstallation(pass: InstallationPass): Promise<Outcome> {
  if (pass.state.start === 'superseded') return stop(SUPERSEDED)
  const isOurs = pass.state.target.jobID === pass.jobID
  const hasLeft = pass.state.target.hasLeftDependents === true
  if (!isOurs && isIdle(pass.state.target) && isPauseUnreported(pass.state.target)) return await writePause(pass)
  if (!isOurs && !(hasLeft && isIdle(pass.state.target))) return stop(SUPERSEDED)
  const end = hasLeft ? await triggerLeftDependents(pass) : undefined
  return end !== undefined || !isOurs ? stop(end ?? FINALIZER_ADDED) : await continueJob(pass)
}

/** The run has the job. */
async function continueJob(pass: InstallationPass): Promise<Outcome> {
  const { start, target } = pass.state
  // The defaults change the generation: the job runs the spec with its defaults.
  if (start === 'begun') pass.draft.observedGeneration = target.generation
  if (start !== 'begun' && needsAdoption(pass)) return await adopt(pass)
  pass.state = { ...pass.state, isAdopted: true }
  return done
}

/** B2 */
async function writePause({ by, subject, act }: InstallationPass): Promise<Outcome> {
  await act.tellPause({ by, subject })
  return stop(FINALIZER_ADDED)
}

/** Triggers the dependents that Landscaper left, before any other step of the job. @returns the reason to end the run; undefined to continue. */
async function triggerLeftDependents(pass: InstallationPass): Promise<string | undefined> {
  const { by, subject, jobID, state, act } = pass
  const now = await act.askLeftDependents({ by, subject, jobID })
  if (now === undefined) return SUPERSEDED
  const target = { ...now, observedGeneration: state.target.observedGeneration }
  pass.state = { ...state, target }
  return undefined
}

// Before the first settle only: later, the annotation belongs to the next job. A run that restarted in Init does not remember whether it has settled,
// but an error in the status shows it, unless it is the error of a job that could not start.
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
