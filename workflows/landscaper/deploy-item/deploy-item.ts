// Deploys the item in its own run: no Execution hosts it, and its status has the job ID already.

import type { Outcome } from '../../kit/index.ts'
import { deployItems } from './deploy-items.ts'
import type { ItemPass } from './pass.ts'

export async function deployItem(pass: ItemPass): Promise<Outcome> {
  return await deployItems(pass, pass.state.deployItems, false)
}
