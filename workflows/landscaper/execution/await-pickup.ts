// Beside what waits for items: another pass is wanted when the first of them has waited too long for its deployer.

import { again, done, type Outcome } from '../../kit/index.ts'
import type { ExecutionPass } from './pass.ts'
import { unclaimedItems } from './end-unclaimed-items.ts'

// A time-out that has passed and cannot be written yet must not turn into passes without end.
const SHORTEST_WAIT_MS = 100

export function awaitPickup(pass: ExecutionPass): Outcome {
  const waits = unclaimedItems(pass).map(({ pickupMs }) => pickupMs ?? 0)
  return waits.length === 0 ? done : again(Math.max(Math.min(...waits), SHORTEST_WAIT_MS))
}
