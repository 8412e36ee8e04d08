// First step of Progressing and Deleting: an interrupt ends all unfinished items, triggered or not, so that no item is triggered
// afterwards.
// The following steps find these items failed. Source: spec/landscaper.md 2.11.

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
  // The object is deleted or has another job: the next pass handles both.
  if (result.target === undefined && request !== undefined) return again(0)
  pass.state = { ...pass.state, target: result.target ?? pass.state.target, isInterrupted: false }
  return letGo(pass)
}

/** Stops the background activities of items that another process has finished. */
export function letGo({ state, jobID, background: tracks }: ExecutionPass): Outcome {
  tracks.retain(new Set(state.deployItems.filter((item) => item.jobIDFinished !== jobID).map(({ uid }) => uid)))
  return done
}
