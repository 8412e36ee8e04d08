// What deploys items, for whatever run they are in.

import { longActivities, shortActivities } from '../../kit/run/loop/index.ts'
import type { DeployActivities, ItemActivities } from './pass.ts'

// A look takes seconds; a deployment of hundreds of objects minutes. A worker that died is noticed by its silence.
const ITEM_LIMITS = { startToCloseMs: 600_000, heartbeatMs: 5000, retryMs: 5000 }

const short = shortActivities<Omit<DeployActivities, 'forItem'>>()

export const deployActivities: DeployActivities = {
  deployMockItems: short.deployMockItems,
  sendItems: short.sendItems,
  forItem: (item) => longActivities<ItemActivities>({ ...ITEM_LIMITS, about: item }),
}
