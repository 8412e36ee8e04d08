// ObjectsCreated and TriggerDelete: the Execution gets the job ID, which starts it. Source: spec/landscaper.md 2.3, 2.4.

import { done, type Outcome } from '../kit/index.ts'
import type { InstallationPass } from './controller.ts'

export async function triggerExecution(pass: InstallationPass): Promise<Outcome> {
  const { by, subject, jobID, act, state } = pass
  if (state.execution === undefined || state.execution.jobID === jobID) return done
  pass.state = { ...state, execution: await act.triggerExecution({ by, subject, jobID, execution: state.execution }) }
  return done
}
