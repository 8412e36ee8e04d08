// ObjectsCreated and TriggerDelete: the Execution gets the job ID, which starts it. Source: spec/landscaper.md 2.3, 2.4.

import { done, isIdle, type Outcome, stop } from '../../kit/index.ts'
import type { InstallationPass } from './pass.ts'

export async function triggerExecution(pass: InstallationPass): Promise<Outcome> {
  const { by, subject, jobID, act, state } = pass
  if (state.execution === undefined) return done
  const isTriggered = state.execution.jobID === jobID
  if (!isTriggered && !isIdle(state.execution))
    return stop(`waiting for execution ${subject.name} to finish another job`)
  // Also when a pass that was lost has triggered it.
  pass.draft.marks.push('waitTime')
  if (isTriggered) return done
  pass.state = { ...state, execution: await act.triggerExecution({ by, subject, jobID, execution: state.execution }) }
  return done
}
