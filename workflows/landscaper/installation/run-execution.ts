// Phases Progressing and Deleting: runs the job of the hosted Execution. Source: spec/landscaper.md 2.3, 2.4, docs/concepts/architecture.md "Hosted children".

import type { ChildExecution } from '../../../activities/landscaper/installation/views.ts'
import { again, done, isIdle, type Outcome, stop } from '../../kit/index.ts'
import { isExecutionBegun, removeInterrupt } from './interrupt-installation.ts'
import { executionKind } from '../execution/kind.ts'
import type { ExecutionProgress, InstallationPass } from './pass.ts'

/** Runs one pass over the Execution. Returns `done` for any progress; `awaitChildren` and `awaitDeletion` evaluate the result. */
export async function runExecution(pass: InstallationPass): Promise<Outcome> {
  const { subject, jobID, act, state } = pass
  if (state.execution === undefined) return done
  if (state.execution.jobID !== jobID && !isIdle(state.execution))
    return stop(`waiting until Execution "${subject.name}" has finished another job`)
  const execution = await withoutEarlierInterrupt(pass, state.execution)
  // The Execution is deleted or has another job; the next pass handles both.
  if (execution === undefined) return again(0)
  pass.draft.marks.push('waitTime')
  const isInterrupted = isExecutionBegun(pass) && state.target.interruptRequested
  const isPaused = state.target.paused !== undefined
  const given = { target: execution, deployItems: state.deployItems, isInterrupted, ...(isPaused && { isPaused }) }
  const ran = await act.runExecution(pass, given)
  pass.state = { ...pass.state, ...after(execution, jobID, ran) }
  const hasEnded = ran.result !== undefined || ran.state.isInterrupted !== true
  if (!isInterrupted || !hasEnded) return done
  return (await removeInterrupt(pass)) ? done : again(0)
}

/** An interrupt that the Execution had before the job started belongs to an earlier job. */
async function withoutEarlierInterrupt(
  pass: InstallationPass,
  execution: ChildExecution,
): Promise<ChildExecution | undefined> {
  if (!execution.interruptRequested || isExecutionBegun(pass)) return execution
  const { by, subject, act } = pass
  const { group, kind } = executionKind
  const { uid, version, jobID } = execution
  const left = await act.forgetInterrupt({ by, subject: { ...subject, group, kind, uid }, jobID, version })
  return left && { ...execution, ...left }
}

function after(before: ChildExecution, jobID: string, { result, state, draft }: ExecutionProgress) {
  if (result === 'Deleted') return { execution: undefined, deployItems: [] }
  const { target, deployItems } = state
  const { uid, renderedFrom } = before
  const { phase, lastError, exportRef } = { ...target, ...draft, exportRef: draft?.fields['exportRef'] }
  const hasExports = exportRef === undefined ? target.hasExports : exportRef !== null
  const isOver = result !== undefined
  const { message: error = before.error, codes = before.codes } = lastError ?? {}
  const failure = isOver && phase !== 'Succeeded' ? { error, codes } : { error: undefined, codes: undefined }
  const jobIDFinished = isOver ? jobID : target.jobIDFinished
  const execution: ChildExecution = {
    ...target,
    uid,
    renderedFrom,
    phase,
    lastError,
    jobID,
    jobIDFinished,
    ...failure,
    hasExports,
  }
  return { execution, deployItems }
}
