// Phases Progressing and Deleting: fails items that no deployer picked up before the pickup timeout. Source: spec/landscaper.md 2.10.

import type { DeployItemView } from '../../../activities/landscaper/deploy-item-view.ts'
import type { Outcome } from '../../kit/index.ts'
import { absorbAll, type ExecutionPass, insist } from './pass.ts'

export async function endUnclaimedItems(pass: ExecutionPass): Promise<Outcome> {
  const overdue = unclaimedItems(pass).filter(({ pickupMs }) => (pickupMs ?? 0) <= 0)
  return insist(await absorbAll(pass, 'endUnclaimedItems', overdue))
}

/** Items of this job that wait for a deployer and have a pickup timeout. */
export function unclaimedItems({ state, jobID }: ExecutionPass): DeployItemView[] {
  return state.deployItems.filter(
    (item) => item.jobID === jobID && item.jobIDFinished !== jobID && item.pickupMs !== undefined,
  )
}
