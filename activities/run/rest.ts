// How long a pass rests after calls that have held its workflow task for long: a worker has few places for tasks, and those that hang again and again
// must take a small share of them, whatever it is that hangs. One that hung once or twice may have met a server that fell silent for a moment, or
// have waited for others, and is back soon.

/** What a task may be held for without consequence, in milliseconds. */
export const LONG_MS = 4000

const FIRST_REST = 1 / 4
const MOST_REST = 8
const LONGEST_REST_MS = 300_000

/**
 * The least time before the next pass, in milliseconds; 0 where nothing was held for long.
 *
 * @param attempt how many passes in a row have failed, from 1.
 */
export function restMs(heldMs: number, attempt: number): number {
  if (heldMs <= LONG_MS) return 0
  return Math.min(LONGEST_REST_MS, heldMs * Math.min(MOST_REST, FIRST_REST * 2 ** (Math.max(1, attempt) - 1)))
}
