// Claims the job of an item in the item's own run. Job IDs come from the Execution or from a user. Two kinds of item create their own job ID: an item
// that is being deleted and has no owner, so that its deletion does not wait for a missing parent, and an item with a retry request.
// Source: docs/concepts/architecture.md "Subjects and routes".
//
//   R1. The request is removed after the job has started: a run that is lost between both repeats the removal, and no second job starts.

import { FINALIZER } from '../contract.ts'
import { done, GONE, FINALIZER_ADDED, HANDED_DOWN, isIdle, type Outcome, stop, SUPERSEDED } from '../../kit/index.ts'
import { isHandled, type ItemPass, itemState } from './pass.ts'

export async function beginItem(pass: ItemPass): Promise<Outcome> {
  const { target } = pass.state
  if (target.jobID === pass.jobID) return await continueJob(pass)
  const isRetry = target.retry !== undefined && isIdle(target)
  // Without a deletion or a retry, the run either exists for the finalizer, or its job was cancelled.
  if (!target.deleting && !isRetry) return target.finalizers.includes(FINALIZER) ? stop(SUPERSEDED) : done
  return (await claimJob(pass)) ? await continueJob(pass) : stop(SUPERSEDED)
}

/** @returns false if another run has the job, or the request was withdrawn. */
async function claimJob(pass: ItemPass): Promise<boolean> {
  const { by, subject, jobID, act } = pass
  const { target } = pass.state
  const { version, deleting, jobID: before, retry } = target
  const asking = { version, generation: retry?.generation ?? 0, deleting, jobID: before }
  const startedTarget = await act.beginJob({ by, subject, jobID, target: asking })
  if (startedTarget === undefined) return false
  pass.state = itemState({ ...target, version: startedTarget.version, jobID, phase: startedTarget.phase })
  return true
}

async function continueJob(pass: ItemPass): Promise<Outcome> {
  const { by, subject, jobID, act } = pass
  const { target } = pass.state
  if (target.retry !== undefined) {
    const left = await act.forgetRetry({ by, subject, jobID, version: target.version, type: target.type })
    if (left === undefined) return stop(SUPERSEDED)
    pass.state = itemState(left)
  }
  return isHandled(target, pass) ? done : stop(HANDED_DOWN)
}

/**
 * Adds the finalizer before the deployment, and to an item without owner when Pawl first sees it, so that its deletion waits for a job.
 */
export async function guardItem(pass: ItemPass): Promise<Outcome> {
  const { by, subject, jobID, act, state } = pass
  const { version, finalizers, deleting } = state.target
  if (deleting || finalizers.includes(FINALIZER)) return done
  const guarded = await act.guardSubject({ by, subject, version, finalizers, guarded: true })
  if (guarded === undefined) {
    pass.state = { ...state, deployItems: [] }
    return stop(GONE)
  }
  pass.state = itemState({ ...state.target, version: guarded.version, finalizers: guarded.finalizers })
  return state.target.jobID === jobID ? done : stop(FINALIZER_ADDED)
}
