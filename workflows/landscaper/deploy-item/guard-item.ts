// Adds the finalizer before the deployment, and to an item without owner when Pawl first sees it, so that its deletion waits for a job.

import { FINALIZER } from '../contract.ts'
import { done, GONE, FINALIZER_ADDED, type Outcome, stop } from '../../kit/index.ts'
import { type ItemPass, itemState } from './pass.ts'

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
