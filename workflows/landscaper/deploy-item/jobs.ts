// The activities that deploy items, in the item's own run and in the run of its Execution.

import { longActivities, shortActivities } from '../../kit/run/loop/index.ts'
import type { DeployActivities, ItemActivities } from './pass.ts'

// A readiness check takes seconds, a deployment of hundreds of objects minutes. Temporal detects a dead worker by missing heartbeats.
const ITEM_LIMITS = { startToCloseMs: 600_000, heartbeatMs: 5000, retryMs: 5000 }

const short = shortActivities<Omit<DeployActivities, 'forItem'>>()

export const deployActivities: DeployActivities = {
  deployMockItems: short.deployMockItems,
  sendItems: short.sendItems,
  forItem: (item) => longActivities<ItemActivities>({ ...ITEM_LIMITS, about: item }),
}
