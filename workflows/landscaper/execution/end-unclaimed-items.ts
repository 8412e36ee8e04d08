// Progressing and Deleting: items that no deployer has taken up in time fail. Source: spec/landscaper.md 2.10.

import type { DeployItemView } from '../../../activities/landscaper/deploy-item-view.ts'
import { done, type Outcome } from '../../kit/index.ts'
import { absorb, batch, type ExecutionPass, insist } from './pass.ts'

export async function endUnclaimedItems(pass: ExecutionPass): Promise<Outcome> {
  const overdue = unclaimedItems(pass).filter(({ pickupMs }) => (pickupMs ?? 0) <= 0)
  return overdue.length === 0 ? done : insist(absorb(pass, await pass.act.endUnclaimedItems(batch(pass, overdue))))
}

/** Items of this job that wait for their deployers, and not for ever. */
export function unclaimedItems({ state, jobID }: ExecutionPass): DeployItemView[] {
  return state.deployItems.filter(
    (item) => item.jobID === jobID && item.jobIDFinished !== jobID && item.pickupMs !== undefined,
  )
}
