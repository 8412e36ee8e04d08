// Before and while children run: an interrupt goes down to the Execution, whose end then ends this job. One that comes before the
// Execution has the job ends the job here, and nothing is triggered. Source: spec/landscaper.md 2.11.

import { again, done, fail, type Outcome } from '../../kit/index.ts'
import type { InstallationPass } from './pass.ts'

export async function interruptInstallation(pass: InstallationPass): Promise<Outcome> {
  const { by, subject, jobID, act, state } = pass
  const { target, execution } = state
  if (!target.interruptRequested) return done
  const isTriggered = execution?.jobID === jobID
  const isRunning = isTriggered && execution.jobIDFinished !== jobID
  const left = await act.interruptInstallation({
    by,
    subject,
    jobID,
    version: target.version,
    execution: isRunning ? execution : undefined,
  })
  // Gone, or another job's: the next pass sees which.
  if (left === undefined) return again(0)
  pass.state = { ...state, target: left }
  return execution === undefined || isTriggered ? done : fail('InterruptOperation', 'operation was interrupted')
}
