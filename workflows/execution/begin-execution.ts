// Job IDs of Executions come from their Installation. Only one that is being deleted and has no owner left gets its own,
// so that nothing waits for a parent that is gone. Source: design.md "Subjects and routes".

import { done, isIdle, type Outcome, stop, SUPERSEDED } from '../kit/index.ts'
import type { ExecutionPass } from './controller.ts'

export async function beginExecution(pass: ExecutionPass): Promise<Outcome> {
  const { by, subject, jobID, state, act } = pass
  const { target } = state
  if (target.jobID === jobID) return done
  if (!target.deleting || !isIdle(target)) return stop(SUPERSEDED)
  const begun = await act.beginJob({ by, subject, jobID, target })
  if (begun === undefined) return stop(SUPERSEDED)
  // Absent fields do not travel: without its error, which begin has taken off, the target would keep that of the job before.
  pass.state = { ...state, target: { ...target, ...begun, lastError: begun.lastError } }
  pass.draft.phase = begun.phase
  pass.draft.observedGeneration = begun.observedGeneration
  pass.draft.lastError = undefined
  return done
}
