// Schedules a pass for the time at which the first waiting item exceeds the pickup timeout.

import { again, done, type Outcome } from '../../kit/index.ts'
import type { ExecutionPass } from './pass.ts'
import { unclaimedItems } from './end-unclaimed-items.ts'

// Lower bound, so that a timeout that has passed and cannot be written yet does not cause endless passes.
const SHORTEST_WAIT_MS = 100

export function awaitPickup(pass: ExecutionPass): Outcome {
  const waits = unclaimedItems(pass).map(({ pickupMs }) => pickupMs ?? 0)
  return waits.length === 0 ? done : again(Math.max(Math.min(...waits), SHORTEST_WAIT_MS))
}
