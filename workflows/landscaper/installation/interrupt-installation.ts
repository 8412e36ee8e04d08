// The steps that stop a job early or hold it: an interrupt, the deletion of an Installation whose job has not started anything or cannot write its
// exports, and a pause.
//
// An interrupt is passed to the running sub-installations, so that it reaches the whole tree. The hosted Execution ends its own items
// (run-execution.ts). Source: spec/landscaper.md 2.11.
//
//   N1. Nothing starts after an interrupt. While some children run and others have not started, the annotation stays on the object, so that a later
//       run does not start anything either. When the running children have ended, the annotation is removed and the job fails.
//   N2. If all children have the job, they all have the interrupt, and their results decide the result of the job.
//   N3. The deletion of a root acts as an interrupt while neither its Execution nor a sub-installation has begun to deploy: the deletion's job
//       follows.

import { again, done, fail, type Outcome, stop } from '../../kit/index.ts'
import type { InstallationPass } from './pass.ts'
import { applySubsResult, asChild, formatNames } from './sub-installations.ts'
import { formatPause, reportPause } from '../pause.ts'

export async function interruptInstallation(pass: InstallationPass): Promise<Outcome> {
  if (isDeletedBeforeDeployment(pass)) return await endForDeletion(pass)
  if (!pass.state.target.interruptRequested) return done
  await interruptSubs(pass)
  // runExecution removes the annotation when the Execution has ended its items.
  if (isExecutionBegun(pass) && pass.state.execution?.jobIDFinished !== pass.jobID) return done
  if (isAllBegun(pass)) return (await removeInterrupt(pass)) ? done : again(0)
  const running = runningSubs(pass)
  if (running.length > 0) return stop(`interrupted: waiting for the end of sub-installations ${formatNames(running)}`)
  return (await removeInterrupt(pass)) ? fail('InterruptOperation', 'operation was interrupted') : again(0)
}

/** Phases of a job after Init (interrupt-installation.ts) in which children may not have started. */
const BEFORE_DEPLOYMENT: readonly string[] = ['CleanupOrphaned', 'ObjectsCreated', 'Progressing']

/** N3 */
function isDeletedBeforeDeployment(pass: InstallationPass): boolean {
  const { state, draft, jobID } = pass
  const { deleting, hasParent } = state.target
  if (!deleting || hasParent || !BEFORE_DEPLOYMENT.includes(draft.phase ?? '') || isExecutionBegun(pass)) return false
  const started = state.subInstallations.filter((sub) => sub.jobID === jobID && !isEarly(sub.phase))
  return started.every(({ phase }) => phase === 'Failed')
}

async function endForDeletion(pass: InstallationPass): Promise<Outcome> {
  await interruptSubs(pass)
  const running = runningSubs(pass)
  if (running.length > 0) return stop(`deleted: waiting for the end of sub-installations ${formatNames(running)}`)
  return fail(
    'InterruptOperation',
    'the installation was deleted before this job deployed anything; the deletion follows',
  )
}

/** @returns false if the object is deleted or has another job; the next pass handles both. */
export async function removeInterrupt(pass: InstallationPass): Promise<boolean> {
  const { by, subject, jobID, act, state } = pass
  const left = await act.interruptInstallation({ by, subject, jobID, version: state.target.version })
  if (left === undefined) return false
  pass.state = { ...pass.state, target: left }
  return true
}

async function interruptSubs(pass: InstallationPass): Promise<void> {
  const { by, subject, jobID, act } = pass
  const untold = runningSubs(pass).filter((sub) => !sub.interruptRequested)
  if (untold.length === 0) return
  applySubsResult(
    pass,
    await act.interruptSubInstallations({ by, subject, jobID, subInstallations: untold.map(asChild) }),
  )
}

function runningSubs({ state: { subInstallations }, jobID }: InstallationPass) {
  return subInstallations.filter((sub) => sub.jobID === jobID && sub.jobIDFinished !== jobID)
}

/** Phases in which children have started only for earlier jobs. */
const EARLY: readonly string[] = ['Init', 'CleanupOrphaned', 'InitDelete']

export function isEarly(phase: string | undefined): boolean {
  return EARLY.includes(phase ?? '')
}

function isAllBegun(pass: InstallationPass): boolean {
  const { state, draft, jobID } = pass
  // A lost run may have come further than its status shows.
  if (isEarly(draft.phase) && !isExecutionBegun(pass)) return false
  const isExecutionLeft = state.execution !== undefined && !isExecutionBegun(pass)
  return !isExecutionLeft && state.subInstallations.every((sub) => sub.jobID === jobID)
}

/** Whether the Execution or one of its items has the job. */
export function isExecutionBegun({ state: { execution, deployItems }, jobID }: InstallationPass): boolean {
  return execution?.jobID === jobID || deployItems.some((item) => item.jobID === jobID)
}

/**
 * Phase Init: ends a job that has not started anything when the Installation is deleted. The deletion's job follows at once, so it needs no
 * blueprint, component registry, context, import or sibling that this job may be waiting for. The job of a sub-installation ends only after a failed
 * read: its deletion needs the next job of the parent, and a failed sub-installation fails the current one. Source: spec/landscaper.md 2.2 "Delete
 * while a job runs".
 */
export function yieldToDeletion(pass: InstallationPass): Outcome {
  const { deleting, hasParent, lastError } = pass.state.target
  if (!deleting || isExecutionBegun(pass) || (hasParent && lastError === undefined)) return done
  return fail('InterruptOperation', 'the installation was deleted before this job began anything; the deletion follows')
}

/**
 * Phase Completing: ends a job that could not write its exports when a user interrupts the job or deletes the Installation. Before the first failure
 * both have no effect, because all children have finished and the job is about to end.
 */
export async function abandonExports(pass: InstallationPass): Promise<Outcome> {
  const { deleting, interruptRequested } = pass.state.target
  if (pass.draft.lastError === undefined || !(deleting || interruptRequested)) return done
  if (interruptRequested && !(await removeInterrupt(pass))) return again(0)
  const { message } = pass.draft.lastError
  return fail(
    'InterruptOperation',
    deleting
      ? `the installation was deleted before its exports were written; the deletion follows; the exports failed: ${message}`
      : `operation was interrupted before the exports were written; the exports failed: ${message}`,
  )
}

/**
 * Holds a paused job if it has work that has not started, and hands the pause down to its running sub-installations. Started work continues: a started
 * Execution holds its own items (run-execution.ts). Source: pause.ts.
 */
export async function awaitResume(pass: InstallationPass): Promise<Outcome> {
  reportPause(pass)
  await handPauseDown(pass)
  const { paused } = pass.state.target
  return paused !== undefined && canHold(pass) ? stop(formatPause(paused)) : done
}

/** Whether the pass can end here without leaving running work unattended. */
function canHold(pass: InstallationPass): boolean {
  const { state, draft, jobID } = pass
  if (isExecutionBegun(pass)) return false
  return (
    isEarly(draft.phase) || state.execution !== undefined || state.subInstallations.some((sub) => sub.jobID !== jobID)
  )
}

async function handPauseDown(pass: InstallationPass): Promise<void> {
  const { by, subject, jobID, act, state } = pass
  const { paused } = state.target
  const isPaused = paused !== undefined
  const affected = state.subInstallations.filter((sub) =>
    isPaused ? isPausable(sub, jobID) : sub.heldBy !== undefined,
  )
  if (affected.length === 0) return
  const subInstallations = affected.map(asChild)
  const input = { by, subject, jobID, subInstallations, isPaused, ...(isPaused && { pausedBy: paused.by }) }
  applySubsResult(pass, await act.holdSubInstallations(input))
}

type Sub = InstallationPass['state']['subInstallations'][number]

function isPausable(sub: Sub, jobID: string): boolean {
  return sub.jobID === jobID && sub.jobIDFinished !== jobID && sub.paused === undefined
}
