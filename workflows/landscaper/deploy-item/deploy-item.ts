// The item's own job, in a run of its own: nobody hosts it, and the job ID is in its status already.

import type { Outcome } from '../../kit/index.ts'
import { deployItems } from './deploy-items.ts'
import type { ItemPass } from './pass.ts'

export async function deployItem(pass: ItemPass): Promise<Outcome> {
  return await deployItems(pass, pass.state.deployItems, false)
}
