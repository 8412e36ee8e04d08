// Before children run: an interrupt that comes before the Execution has the job ends the job here, and nothing is begun. One that comes later ends the
// items where the Execution runs (run-execution.ts). Source: spec/landscaper.md 2.11.

import { again, done, fail, type Outcome } from '../../kit/index.ts'
import type { InstallationPass } from './pass.ts'

export async function interruptInstallation(pass: InstallationPass): Promise<Outcome> {
  const { by, subject, jobID, act, state } = pass
  const { target, execution } = state
  const isRunning = isBegun(pass) && execution?.jobIDFinished !== jobID
  if (!target.interruptRequested || isRunning) return done
  const left = await act.interruptInstallation({ by, subject, jobID, version: target.version })
  // Gone, or another job's: the next pass sees which.
  if (left === undefined) return again(0)
  pass.state = { ...state, target: left }
  return execution === undefined || isBegun(pass) ? done : fail('InterruptOperation', 'operation was interrupted')
}

/** The Execution, or an item of it, has the job. */
export function isBegun({ state: { execution, deployItems }, jobID }: InstallationPass): boolean {
  return execution?.jobID === jobID || deployItems.some((item) => item.jobID === jobID)
}
