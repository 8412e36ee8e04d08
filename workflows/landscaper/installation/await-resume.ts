// Holds a paused job if it has work that has not started, and hands the pause down to its running sub-installations. Started work continues: a started
// Execution holds its own items (run-execution.ts). Source: pause.ts.

import { done, type Outcome, stop } from '../../kit/index.ts'
import { pauseText, tellPause } from '../pause.ts'
import { isEarly, isExecutionBegun } from './interrupt-installation.ts'
import type { InstallationPass } from './pass.ts'
import { absorbSubs, asChild } from './sub-installations.ts'

export async function awaitResume(pass: InstallationPass): Promise<Outcome> {
  tellPause(pass)
  await hand(pass)
  const { paused } = pass.state.target
  return paused !== undefined && isHeld(pass) ? stop(pauseText(paused)) : done
}

/** Whether the pass can end here without leaving running work unattended. */
function isHeld(pass: InstallationPass): boolean {
  const { state, draft, jobID } = pass
  if (isExecutionBegun(pass)) return false
  return (
    isEarly(draft.phase) || state.execution !== undefined || state.subInstallations.some((sub) => sub.jobID !== jobID)
  )
}

async function hand(pass: InstallationPass): Promise<void> {
  const { by, subject, jobID, act, state } = pass
  const { paused } = state.target
  const isPaused = paused !== undefined
  const told = state.subInstallations.filter((sub) => (isPaused ? isFree(sub, jobID) : sub.heldBy !== undefined))
  if (told.length === 0) return
  const subInstallations = told.map(asChild)
  const input = { by, subject, jobID, subInstallations, isPaused, ...(isPaused && { pausedBy: paused.by }) }
  absorbSubs(pass, await act.holdSubInstallations(input))
}

type Sub = InstallationPass['state']['subInstallations'][number]

function isFree(sub: Sub, jobID: string): boolean {
  return sub.jobID === jobID && sub.jobIDFinished !== jobID && sub.paused === undefined
}
