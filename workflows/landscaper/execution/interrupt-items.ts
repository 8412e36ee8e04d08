// Progressing and Deleting, first: an interrupt ends all items that have not finished, triggered or not, so that none is triggered
// afterwards. The steps that follow find them failed. Source: spec/landscaper.md 2.11.

import type { DeployItemView } from '../../../activities/landscaper/deploy-item-view.ts'
import type { InterruptResult } from '../../../activities/landscaper/execution/end-items.ts'
import { again, done, type Outcome } from '../../kit/index.ts'
import { absorb, batch, type ExecutionPass, insist, leftOf } from './pass.ts'

export async function interruptItems(pass: ExecutionPass): Promise<Outcome> {
  const { state, jobID, act } = pass
  const { version, interruptRequested } = state.target
  if (!interruptRequested && state.isInterrupted !== true) return letGo(pass)
  const request = interruptRequested ? { version, jobID: state.target.jobID } : undefined
  let asked: readonly DeployItemView[] = state.deployItems.filter((item) => item.jobIDFinished !== jobID)
  let result: InterruptResult
  do {
    result = await act.interruptExecution({ ...batch(pass, asked), request })
    const outcome = absorb(pass, result)
    if (outcome.faults.length > 0) return insist(outcome)
    asked = leftOf(asked, result)
  } while (asked.length > 0)
  // Gone, or another job's: the next pass sees which.
  if (result.target === undefined && request !== undefined) return again(0)
  pass.state = { ...pass.state, target: result.target ?? pass.state.target, isInterrupted: false }
  return letGo(pass)
}

/** What another hand has ended is worked on no more. */
export function letGo({ state, jobID, background: tracks }: ExecutionPass): Outcome {
  tracks.retain(new Set(state.deployItems.filter((item) => item.jobIDFinished !== jobID).map(({ uid }) => uid)))
  return done
}
