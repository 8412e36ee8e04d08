// An interrupt: the sub-installations that run get it too, so that it goes down the whole tree; the items end where the Execution runs
// (run-execution.ts). One that comes before any child has the job ends the job here, and nothing is begun. Source: spec/landscaper.md 2.11.

import { again, done, fail, type Outcome } from '../../kit/index.ts'
import type { InstallationPass } from './pass.ts'
import { absorbSubs, asChild } from './sub-installations.ts'

export async function interruptInstallation(pass: InstallationPass): Promise<Outcome> {
  const { state, jobID } = pass
  if (!state.target.interruptRequested) return done
  await interruptSubs(pass)
  // It is taken off where its items have ended.
  if (isExecutionBegun(pass) && state.execution?.jobIDFinished !== jobID) return done
  const isRunning = isBegun(pass)
  const hasChildren = state.execution !== undefined || state.subInstallations.length > 0
  if (!(await takeInterruptOff(pass))) return again(0)
  return isRunning || !hasChildren ? done : fail('InterruptOperation', 'operation was interrupted')
}

/** @returns false: the object is gone, or another job's; the next pass sees which. */
export async function takeInterruptOff(pass: InstallationPass): Promise<boolean> {
  const { by, subject, jobID, act, state } = pass
  const left = await act.interruptInstallation({ by, subject, jobID, version: state.target.version })
  if (left === undefined) return false
  pass.state = { ...pass.state, target: left }
  return true
}

async function interruptSubs(pass: InstallationPass): Promise<void> {
  const { by, subject, jobID, act, state } = pass
  const running = state.subInstallations.filter(
    (sub) => sub.jobID === jobID && sub.jobIDFinished !== jobID && !sub.interruptRequested,
  )
  if (running.length === 0) return
  absorbSubs(pass, await act.interruptSubInstallations({ by, subject, jobID, subInstallations: running.map(asChild) }))
}

/** A child has the job. */
export function isBegun(pass: InstallationPass): boolean {
  return isExecutionBegun(pass) || pass.state.subInstallations.some((sub) => sub.jobID === pass.jobID)
}

/** The Execution, or an item of it, has the job. */
export function isExecutionBegun({ state: { execution, deployItems }, jobID }: InstallationPass): boolean {
  return execution?.jobID === jobID || deployItems.some((item) => item.jobID === jobID)
}
