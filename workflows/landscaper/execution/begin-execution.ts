// Job IDs of Executions come from their Installation. Only one that is being deleted and has no owner left gets its own,
// so that nothing waits for a parent that is gone. Source: docs/architecture.md "Subjects and routes".
//
//   B1. A job that nobody has worked on begins with its first phase, whatever phase a hand has left there.
//   B2. An interrupt that is there when the job begins was meant for an earlier one. Not so below a parent: it takes the old ones off
//       before it hands out its job ID, so what is there is for this job. Nor where an item has the job: a pass that was lost has begun it.
//   B3. One without a parent gets its finalizer as soon as it is seen, in a run without a job (unguarded.ts).
//   B4. So is told that it is paused, or not any more (pause.ts, Q2).

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
  // Absent fields do not travel: without its error, which begin has taken off, the target would keep that of the job before.
  pass.state = { ...state, target: { ...target, ...begun, lastError: begun.lastError } }
  pass.draft.phase = begun.phase
  pass.draft.observedGeneration = begun.observedGeneration
  pass.draft.lastError = undefined
  return await forgetInterrupt(pass)
}

/** B3. The run is there for the finalizer, or its job was taken away. */
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

/** B1, for one that is hosted. */
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
