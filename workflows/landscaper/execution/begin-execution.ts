// Claims the job of an Execution. Job IDs come from the Installation. Only an Execution that is being deleted and has no owner creates its
// own job ID,
// so that its deletion does not wait for a missing parent. Source: docs/architecture.md "Subjects and routes".
//
//   B1. A job without progress starts in its first phase, whatever phase a user wrote into the status.
//   B2. An interrupt annotation that exists when a root's job starts belongs to an earlier job and is removed. Below a parent the
//       annotation belongs to this
//       job, because the parent removes older ones before it hands down the job ID. It also belongs to this job if an item has the job ID:
//       a lost pass started it.
//   B3. An Execution without a parent gets its finalizer when Pawl first sees it, in a run without a job (without-finalizer.ts).
//   B4. A run without a job also writes the pause, or its end, into the status of an idle Execution (pause.ts, Q2).

import { FINALIZER } from '../contract.ts'
import { done, FINALIZER_ADDED, isIdle, type Outcome, stop, SUPERSEDED } from '../../kit/index.ts'
import { guardExecution } from './guard-execution.ts'
import { isUntold } from '../pause.ts'
import type { ExecutionPass } from './pass.ts'

export async function beginExecution(pass: ExecutionPass): Promise<Outcome> {
  const { by, subject, jobID, state, act } = pass
  const { target } = state
  if (target.jobID === jobID) {
    if (!target.isUnbegun) return done
    pass.draft.phase = undefined
    const hasItems = state.deployItems.some((item) => item.jobID === jobID)
    return target.hasParent || hasItems ? done : await forgetInterrupt(pass)
  }
  if (!isIdle(target)) return stop(SUPERSEDED)
  if (target.finalizers.includes(FINALIZER) && isUntold(target)) return await tell(pass)
  if (target.paused !== undefined && target.deleting) return stop(SUPERSEDED)
  if (!target.deleting) return await guard(pass)
  const begun = await act.beginJob({ by, subject, jobID, target })
  if (begun === undefined) return stop(SUPERSEDED)
  // JSON drops undefined fields: without lastError here, the target would keep the error of the previous job, which begin has removed.
  pass.state = { ...state, target: { ...target, ...begun, lastError: begun.lastError } }
  pass.draft.phase = begun.phase
  pass.draft.observedGeneration = begun.observedGeneration
  pass.draft.lastError = undefined
  return await forgetInterrupt(pass)
}

/** B3. Without a deletion, the run either exists for the finalizer, or its job was cancelled. */
async function guard(pass: ExecutionPass): Promise<Outcome> {
  if (pass.state.target.finalizers.includes(FINALIZER)) return stop(SUPERSEDED)
  const guarded = await guardExecution(pass)
  return guarded.stopped === undefined ? stop(FINALIZER_ADDED) : guarded
}

/** B4 */
async function tell({ by, subject, act }: ExecutionPass): Promise<Outcome> {
  await act.tellPause({ by, subject })
  return stop(FINALIZER_ADDED)
}

/** B1, for a hosted Execution. */
export function resumeExecution({ state, draft }: ExecutionPass): void {
  if (state.target.isUnbegun) draft.phase = undefined
}

async function forgetInterrupt(pass: ExecutionPass): Promise<Outcome> {
  const { by, subject, jobID, state, act } = pass
  if (!state.target.interruptRequested) return done
  const target = await act.forgetInterrupt({ by, subject, jobID, version: state.target.version })
  if (target === undefined) return stop(SUPERSEDED)
  pass.state = { ...state, target }
  return done
}
