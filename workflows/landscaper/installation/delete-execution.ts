// InitDelete: deletes the Execution, or tells one that is being deleted already to let its items go. Source: spec/landscaper.md 2.4.

import { done, type Outcome } from '../../kit/index.ts'
import type { InstallationPass } from './pass.ts'

export async function deleteExecution(pass: InstallationPass): Promise<Outcome> {
  const { by, subject, act, state } = pass
  const { execution, target } = state
  if (execution === undefined) return done
  if (execution.deleting && (execution.withoutUninstall || !target.withoutUninstall)) return done
  const left = await act.deleteExecution({ by, subject, execution, withoutUninstall: target.withoutUninstall })
  pass.state = { ...state, execution: left }
  return done
}
