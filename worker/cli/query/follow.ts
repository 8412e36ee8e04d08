// Follows a job: reads and shows its state until it ends, and continues while the journal is temporarily unavailable.
//
//   F1. Reading takes at most a fifth of the time, for every size of the tree.
//   F2. The command polls the journal. A NOTIFY per change would serialize the commits of all runs, because PostgreSQL
//       takes one global lock for it.
//   F3. While the journal is unavailable, the command reports that once and retries. Other errors are thrown.

import { ApiUnavailable } from '../api-place.ts'
import { failureText } from './open-journal.ts'

/** Interval for a small tree; a change is shown within 300 ms, including the time of two reads. */
const POLL_MS = 100
/** Maximum interval. */
const LONGEST_MS = 5000
/** F1 */
const PAUSES_A_LOOK = 4

interface FollowOptions<Look> {
  readonly readTree: () => Promise<Look>
  /** Shows a state; returns the exit code when the job has ended. */
  readonly show: (read: Look) => number | undefined
  /** Prints a line outside of the shown state. */
  readonly report: (line: string) => void
  readonly pause: (ms: number) => Promise<unknown>
  /** Milliseconds of a monotonic clock. */
  readonly clockMs: () => number
}

/** @returns the last result of `show`. */
export async function follow<Look>({
  readTree: look,
  show,
  report: tell,
  pause,
  clockMs: steady,
}: FollowOptions<Look>): Promise<number> {
  let retryMs = 0
  for (;;) {
    const startedAt = steady()
    try {
      const state = await look()
      if (retryMs > 0) tell('the journal answers again')
      retryMs = 0
      const end = show(state)
      if (end !== undefined) return end
    } catch (error) {
      if (!isUnavailable(error)) throw error
      if (retryMs === 0) tell(`the journal does not answer: ${failureText(error)}; waiting for it`)
      retryMs = Math.min(LONGEST_MS, Math.max(POLL_MS, retryMs * 2))
    }
    await pause(retryMs > 0 ? retryMs : pauseAfter(steady() - startedAt))
  }
}

/** F1 */
export function pauseAfter(tookMs: number): number {
  return Math.min(LONGEST_MS, Math.max(POLL_MS, tookMs * PAUSES_A_LOOK))
}

// SQLSTATE: connection exceptions, too many connections, shutdown or start-up, cancelled statement.
const AWAY_STATE = /^(?:08\w{3}|53300|57P0[1-5]|57014)$/
const AWAY_CODE = /^(?:ECONNREFUSED|ECONNRESET|EPIPE|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|ENOENT|ENOTFOUND|EAI_AGAIN)$/
// Messages of pg for errors without a code.
const AWAY_TEXT = /^(?:Connection terminated|Query read timeout|timeout e|Client has encountered a connection error)/

/** True if a query failed because the database is temporarily unavailable. */
export function isUnavailable(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  if (error instanceof ApiUnavailable) return true
  const code = 'code' in error && typeof error.code === 'string' ? error.code : ''
  return AWAY_STATE.test(code) || AWAY_CODE.test(code) || AWAY_TEXT.test(error.message)
}
