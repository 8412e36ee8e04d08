// InitDelete: deletes the Execution. Source: spec/landscaper.md 2.4.

import { done, type Outcome } from '../kit/index.ts'
import type { InstallationPass } from './controller.ts'

export async function deleteExecution(pass: InstallationPass): Promise<Outcome> {
  const { by, subject, jobID, act, state } = pass
  if (state.execution === undefined || state.execution.deleting) return done
  const execution = await act.deleteExecution({
    by,
    subject,
    jobID,
    execution: state.execution,
    withoutUninstall: state.target.withoutUninstall,
  })
  pass.state = { ...state, execution }
  return done
}
