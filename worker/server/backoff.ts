// Waiting: for a time, and ever longer while something fails.

import { setTimeout as sleep } from 'node:timers/promises'

/** Waits `ms`, or until the signal; never rejects. */
export async function pause(ms: number, signal: AbortSignal): Promise<void> {
  try {
    await sleep(ms, undefined, { signal })
  } catch {
    // Aborted: the caller's loop looks at the signal.
  }
}

export interface Backoff {
  /** The delay after one more failure: doubling from `first` to `longest`, with a random part of one half so that many do not retry together. */
  next(): number
  /** Something worked: the next failure counts as the first. */
  reset(): void
}

export function createBackoff(
  limits: { readonly first: number; readonly longest: number },
  random: () => number,
): Backoff {
  let failures = 0
  return {
    next() {
      const delay = Math.min(limits.longest, limits.first * 2 ** Math.min(failures, 30))
      failures += 1
      return delay * (0.5 + random() / 2)
    },
    reset() {
      failures = 0
    },
  }
}
