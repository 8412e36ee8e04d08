// Pauses that end when a signal is aborted, and exponential back-off with jitter after failures.

import { setTimeout as sleep } from 'node:timers/promises'

/** Waits `ms`, or until the signal is aborted; never rejects. */
export async function pause(ms: number, signal: AbortSignal): Promise<void> {
  try {
    await sleep(ms, undefined, { signal })
  } catch {
    // Aborted: the caller's loop checks the signal.
  }
}

/** The first and the longest delay, in milliseconds. */
export interface BackoffLimits {
  readonly first: number
  readonly longest: number
}

/**
 * The delay after a failure, in milliseconds. It doubles with each failure, from `first` to `longest`, and is then
 * multiplied by 0.5 (`random` is 0) to 1 (`random` is 1), so that processes that fail together do not retry together.
 *
 * @param failures the number of consecutive failures before this one.
 */
export function delayAfter(failures: number, { first, longest }: BackoffLimits, random: number): number {
  return Math.min(longest, first * 2 ** failures) * (0.5 + random / 2)
}

export interface Backoff {
  /** Counts a failure and returns the delay after it, in milliseconds. */
  next(): number
  /** After a success: the next failure counts as the first. */
  reset(): void
}

export function createBackoff(limits: BackoffLimits, random: () => number): Backoff {
  let failures = 0
  return {
    next: () => delayAfter(failures++, limits, random()),
    reset() {
      failures = 0
    },
  }
}

/**
 * Retries until the attempt succeeds or the signal is aborted. It never resets `backoff`: a caller that uses `backoff`
 * again resets it after a success.
 *
 * @param onFailure called with each failure and the delay after it.
 * @returns the result of the attempt; undefined if the signal is aborted before a success.
 */
export async function retryUntilStopped<Result>(
  attempt: () => Promise<Result>,
  onFailure: (error: unknown, delayMs: number) => void,
  { backoff, signal }: { readonly backoff: Backoff; readonly signal: AbortSignal },
): Promise<Result | undefined> {
  while (!signal.aborted) {
    try {
      return await attempt()
    } catch (error) {
      const delayMs = backoff.next()
      onFailure(error, delayMs)
      await pause(delayMs, signal)
    }
  }
  return undefined
}

/**
 * Waits until one of the promises settles, at most `ms`. Leaves no timer behind, because a timer keeps a stopped
 * process alive.
 *
 * @param keepsAlive whether the timer keeps the process alive meanwhile.
 * @throws the error of the promise that settles first, if it rejects.
 */
export async function waitForAny(ms: number, promises: readonly Promise<unknown>[], keepsAlive = true): Promise<void> {
  const timeout = new AbortController()
  try {
    await Promise.race([
      ...promises,
      sleep(ms, undefined, { signal: timeout.signal, ref: keepsAlive }).catch(() => undefined),
    ])
  } finally {
    timeout.abort()
  }
}
