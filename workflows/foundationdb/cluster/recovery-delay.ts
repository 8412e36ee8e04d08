// The delay before the next pass after a recovery of the database: no event reports that the database may be disturbed again.

import type { DatabaseStatus } from '../../../activities/foundationdb/database/status.ts'
import { USUAL_DELAY_MS } from './requeue.ts'

type Recovered = Pick<DatabaseStatus, 'recovery'>

/** The data distribution starts again about 35 s after a recovery. Source: fdb-recordings 14, 28. */
const RECOVERING_SECONDS = 60
const RECOVERING_MS = 3000
const LEAST_MS = 1000

/** While a step waits for the data distribution. @param usualMs the delay long after a recovery. */
export function recoveringDelay({ recovery }: Recovered, usualMs: number = USUAL_DELAY_MS): number {
  return (recovery.secondsSince ?? Infinity) < RECOVERING_SECONDS ? RECOVERING_MS : usualMs
}

/** While a step waits until `seconds` after the recovery. @param mostMs the longest delay, and the delay if the step waits for something else. */
export function settlingDelay({ recovery }: Recovered, seconds: number, mostMs: number = USUAL_DELAY_MS): number {
  const left = seconds - (recovery.secondsSince ?? Infinity)
  return left > 0 ? Math.min(mostMs, Math.max(LEAST_MS, Math.ceil(left * 1000))) : mostMs
}
