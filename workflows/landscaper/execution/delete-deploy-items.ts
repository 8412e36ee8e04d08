// Phase InitDelete: deletes all DeployItems. Their finalizers keep them until they are triggered.
// Source: seeds/landscaper-execution-controller.txt "InitDelete".

import type { Outcome } from '../../kit/index.ts'
import { absorbAll, type ExecutionPass } from './pass.ts'

export async function deleteDeployItems(pass: ExecutionPass): Promise<Outcome> {
  const items = pass.state.deployItems.filter((item) => !item.deleting)
  return await absorbAll(pass, 'deleteDeployItems', items)
}
