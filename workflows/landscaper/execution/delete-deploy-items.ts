// InitDelete: deletes all deploy items; their finalizers hold them until they are triggered.
// Source: seeds/landscaper-execution-controller.txt "InitDelete".

import { done, type Outcome } from '../../kit/index.ts'
import { absorb, batch, type ExecutionPass } from './pass.ts'

export async function deleteDeployItems(pass: ExecutionPass): Promise<Outcome> {
  const items = pass.state.deployItems.filter((item) => !item.deleting)
  return items.length === 0 ? done : absorb(pass, await pass.act.deleteDeployItems(batch(pass, items)))
}
