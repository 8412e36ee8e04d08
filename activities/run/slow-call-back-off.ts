// The delay after a pass with slow failed calls. A worker has few workflow task slots; the delay limits the share of slots that subjects with slow calls
// occupy. The first delays are short, because one or two slow calls may come from a server that was unavailable for a moment.

/** Longest call that causes no delay, in milliseconds. */
export const SLOW_CALL_MS = 4000

const INITIAL_FACTOR = 1 / 4
const MAX_FACTOR = 8
const MAX_BACK_OFF_MS = 300_000

/**
 * Returns the least delay before the next pass in milliseconds, 0 after a call of at most SLOW_CALL_MS.
 *
 * @param attempt number of consecutive failed passes, from 1.
 */
export function slowCallBackOffMs(callMs: number, attempt: number): number {
  if (callMs <= SLOW_CALL_MS) return 0
  return Math.min(MAX_BACK_OFF_MS, callMs * Math.min(MAX_FACTOR, INITIAL_FACTOR * 2 ** (Math.max(1, attempt) - 1)))
}
