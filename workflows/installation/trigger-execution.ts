// ObjectsCreated and TriggerDelete: the Execution gets the job ID, which starts it. Source: spec/landscaper.md 2.3, 2.4.

import { done, isIdle, type Outcome, stop } from '../kit/index.ts'
import type { InstallationPass } from './controller.ts'

export async function triggerExecution(pass: InstallationPass): Promise<Outcome> {
  const { by, subject, jobID, act, state } = pass
  if (state.execution === undefined || state.execution.jobID === jobID) return done
  if (!isIdle(state.execution)) return stop(`waiting for execution ${subject.name} to finish another job`)
  pass.draft.marks.push('waitTime')
  pass.state = { ...state, execution: await act.triggerExecution({ by, subject, jobID, execution: state.execution }) }
  return done
}
