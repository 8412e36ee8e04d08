// The smallest workflows, for the yardsticks: the minimal cost of Temporal and its SDK.

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
