// Job IDs of items come from elsewhere: from their Execution, or a hand. Two get their own, whatever their type: one that is being deleted and has no
// owner left, so that nothing waits for a parent that is gone, and one of which a job of its own is asked for.
// Source: docs/architecture.md "Subjects and routes".
//
//   R1. The request is taken off when the job has begun: a run that is lost in between does that again, and no second job begins.

import { FINALIZER } from '../contract.ts'
import { done, HANDED_DOWN, isIdle, type Outcome, stop, SUPERSEDED } from '../../kit/index.ts'
import { isServed, type ItemPass, itemState } from './pass.ts'

export async function beginItem(pass: ItemPass): Promise<Outcome> {
  const { target } = pass.state
  if (target.jobID === pass.jobID) return await goOn(pass)
  const isRetry = target.retry !== undefined && isIdle(target)
  // The run is there for the finalizer, or its job was taken away.
  if (!target.deleting && !isRetry) return target.finalizers.includes(FINALIZER) ? stop(SUPERSEDED) : done
  return (await begin(pass)) ? await goOn(pass) : stop(SUPERSEDED)
}

/** @returns false: another run has the job, or it is not asked for any more. */
async function begin(pass: ItemPass): Promise<boolean> {
  const { by, subject, jobID, act } = pass
  const { target } = pass.state
  const { version, deleting, jobID: before, retry } = target
  const asking = { version, generation: retry?.generation ?? 0, deleting, jobID: before }
  const begun = await act.beginJob({ by, subject, jobID, target: asking })
  if (begun === undefined) return false
  pass.state = itemState({ ...target, version: begun.version, jobID, phase: begun.phase })
  return true
}

async function goOn(pass: ItemPass): Promise<Outcome> {
  const { by, subject, jobID, act } = pass
  const { target } = pass.state
  if (target.retry !== undefined) {
    const left = await act.forgetRetry({ by, subject, jobID, version: target.version, type: target.type })
    if (left === undefined) return stop(SUPERSEDED)
    pass.state = itemState(left)
  }
  return isServed(target, pass) ? done : stop(HANDED_DOWN)
}
