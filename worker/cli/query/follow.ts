// How a job is followed: it is looked at again and again until it ends, as often as looking is cheap, and through times in which the journal is away.
//
//   F1. Looking takes at most a fifth of the time, whatever the size of the tree.
//   F2. It asks, and is not told: a NOTIFY with each change would have the commits of all runs wait for one another, since PostgreSQL takes one lock for it.
//   F3. A journal that goes away is waited for, and said to be away once; anything else that goes wrong is thrown.

import { ApiUnavailable } from '../api-place.ts'
import { failureText } from './open-journal.ts'

/** Between two looks at a small tree: a change is seen within 300 ms, of which two looks may take a part. */
const POLL_MS = 100
/** How long the pause grows at most. */
const LONGEST_MS = 5000
/** F1 */
const PAUSES_A_LOOK = 4

interface FollowOptions<Look> {
  readonly readTree: () => Promise<Look>
  /** What was seen is shown; undefined: it goes on. */
  readonly show: (read: Look) => number | undefined
  /** A line beside what is shown. */
  readonly report: (line: string) => void
  readonly pause: (ms: number) => Promise<unknown>
  /** Milliseconds of a steady clock. */
  readonly clockMs: () => number
}

/** @returns what the last `show` answered. */
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

// SQLSTATE: connection exceptions, too many connections, shut down or starting up; a statement that was ended for its time.
const AWAY_STATE = /^(?:08\w{3}|53300|57P0[1-5]|57014)$/
const AWAY_CODE = /^(?:ECONNREFUSED|ECONNRESET|EPIPE|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|ENOENT|ENOTFOUND|EAI_AGAIN)$/
// The library's words for what has no code.
const AWAY_TEXT = /^(?:Connection terminated|Query read timeout|timeout e|Client has encountered a connection error)/

/** Whether a question failed because the database is not there, or not now. */
export function isUnavailable(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  if (error instanceof ApiUnavailable) return true
  const code = 'code' in error && typeof error.code === 'string' ? error.code : ''
  return AWAY_STATE.test(code) || AWAY_CODE.test(code) || AWAY_TEXT.test(error.message)
}
