// How long a pass rests after calls that have held its workflow task for long: a worker has few places for tasks, and those that hang must take a small
// share of them, whatever it is that hangs.

/** What a task may be held for without consequence, in milliseconds. */
export const LONG_MS = 4000

const REST = 8
const LONGEST_REST_MS = 300_000

/** The least time before the next pass, in milliseconds; 0 where nothing was held for long. */
export function restMs(heldMs: number): number {
  return heldMs > LONG_MS ? Math.min(LONGEST_REST_MS, heldMs * REST) : 0
}
