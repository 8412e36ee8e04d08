// The steps before the first item of an Execution starts: claims the job, adds the finalizer, and holds a paused job.
// Job IDs come from the Installation. Only an Execution that is being deleted and has no owner creates its own job ID,
// so that its deletion does not wait for a missing parent. Source: docs/concepts/architecture.md "Subjects and routes".
//
//   B1. A job without progress starts in its first phase, whatever phase a user wrote into the status.
//   B2. An interrupt annotation that exists when a root's job starts belongs to an earlier job and is removed. Below a parent the annotation
//       belongs to this job, because the parent removes older ones before it hands down the job ID. It also belongs to this job if an item has the job
//       ID: a lost pass started it.
//   B3. An Execution without a parent gets its finalizer when Pawl first sees it, in a run without a job (runs-without-parent.ts).
//   B4. A run without a job also writes the pause, or its end, into the status of an idle Execution (pause.ts, Q2).

import { FINALIZER } from '../contract.ts'
import { done, GONE, FINALIZER_ADDED, isIdle, type Outcome, stop, SUPERSEDED } from '../../kit/index.ts'
import { isPauseUnreported, reportPause } from '../pause.ts'
import { type ExecutionPass, describePause, isPaused } from './pass.ts'

export async function beginExecution(pass: ExecutionPass): Promise<Outcome> {
  const { by, subject, jobID, state, act } = pass
  const { target } = state
  if (target.jobID === jobID) {
    if (!target.isUnbegun) return done
    pass.draft.phase = undefined
    const hasItems = state.deployItems.some((item) => item.jobID === jobID)
    return target.hasParent || hasItems ? done : await removeOldInterrupt(pass)
  }
  if (!isIdle(target)) return stop(SUPERSEDED)
  if (target.finalizers.includes(FINALIZER) && isPauseUnreported(target)) return await writePause(pass)
  if (target.paused !== undefined && target.deleting) return stop(SUPERSEDED)
  if (!target.deleting) return await addFinalizer(pass)
  const startedTarget = await act.beginJob({ by, subject, jobID, target })
  if (startedTarget === undefined) return stop(SUPERSEDED)
  // JSON drops undefined fields: without lastError here, the target would keep the error of the previous job, which begin has removed.
  pass.state = { ...state, target: { ...target, ...startedTarget, lastError: startedTarget.lastError } }
  pass.draft.phase = startedTarget.phase
  pass.draft.observedGeneration = startedTarget.observedGeneration
  pass.draft.lastError = undefined
  return await removeOldInterrupt(pass)
}

/** B3. Without a deletion, the run either exists for the finalizer, or its job was cancelled. */
async function addFinalizer(pass: ExecutionPass): Promise<Outcome> {
  if (pass.state.target.finalizers.includes(FINALIZER)) return stop(SUPERSEDED)
  const guarded = await guardExecution(pass)
  return guarded.stopped === undefined ? stop(FINALIZER_ADDED) : guarded
}

/** B4 */
async function writePause({ by, subject, act }: ExecutionPass): Promise<Outcome> {
  await act.tellPause({ by, subject })
  return stop(FINALIZER_ADDED)
}

/** B1, for a hosted Execution. */
export function resumeExecution({ state, draft }: ExecutionPass): void {
  if (state.target.isUnbegun) draft.phase = undefined
}

async function removeOldInterrupt(pass: ExecutionPass): Promise<Outcome> {
  const { by, subject, jobID, state, act } = pass
  if (!state.target.interruptRequested) return done
  const target = await act.forgetInterrupt({ by, subject, jobID, version: state.target.version })
  if (target === undefined) return stop(SUPERSEDED)
  pass.state = { ...state, target }
  return done
}

/**
 * Adds the finalizer before the job creates any object, so that no created object is left behind after a deletion.
 */
export async function guardExecution(pass: ExecutionPass): Promise<Outcome> {
  const { target } = pass.state
  if (target.finalizers.includes(FINALIZER)) return done
  const guarded = await pass.act.guardSubject({
    by: pass.by,
    subject: pass.subject,
    version: target.version,
    finalizers: target.finalizers,
    guarded: true,
  })
  if (guarded === undefined) return stop(GONE)
  pass.state = { ...pass.state, target: { ...target, ...guarded } }
  return done
}

// Holds a paused job before it starts anything. Later, the steps that start items check the pause themselves (isHeldBack). Source:
// pause.ts.

/** Phases in which no item has started, unless an earlier run of the job was lost. */
const FIRST_PHASES: readonly string[] = ['Init', 'InitDelete']

export function awaitResume(pass: ExecutionPass): Outcome {
  reportPause(pass)
  const { state, jobID, draft, background } = pass
  const hasBegun = state.deployItems.some((item) => item.jobID === jobID || background.has(item.uid))
  return isPaused(pass) && FIRST_PHASES.includes(draft.phase ?? '') && !hasBegun ? stop(describePause(pass)) : done
}
