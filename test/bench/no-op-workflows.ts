// The smallest workflows that there are, bundled for the yardsticks: what Temporal and its SDK take at least.

import { proxyLocalActivities } from '@temporalio/workflow'

export interface NoOpActivities {
  nothing(): Promise<void>
}

const { nothing } = proxyLocalActivities<NoOpActivities>({ startToCloseTimeout: '10 seconds' })

export function noOp(): Promise<void> {
  return Promise.resolve()
}

export async function oneLocalActivity(): Promise<void> {
  await nothing()
}
