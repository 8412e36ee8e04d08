// Waiting: for a time, ever longer while something fails, and until what is on its way is there.

import { setTimeout as sleep } from 'node:timers/promises'

/** Waits `ms`, or until the signal; never rejects. */
export async function pause(ms: number, signal: AbortSignal): Promise<void> {
  try {
    await sleep(ms, undefined, { signal })
  } catch {
    // Aborted: the caller's loop looks at the signal.
  }
}

export interface BackoffLimits {
  readonly first: number
  readonly longest: number
}

/**
 * The delay after a failure that `failures` others have preceded: doubling from `first` to `longest`, of which `random` (0 to 1) takes up to one
 * half, so that those that fail together do not retry together.
 */
export function delayAfter(failures: number, { first, longest }: BackoffLimits, random: number): number {
  return Math.min(longest, first * 2 ** failures) * (0.5 + random / 2)
}

export interface Backoff {
  /** The delay after one more failure. */
  next(): number
  /** Something worked: the next failure counts as the first. */
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
 * Tries until it works.
 *
 * @param failed told of each failure and of how long is waited after it.
 * @returns undefined when the signal comes before.
 */
export async function persist<Result>(
  attempt: () => Promise<Result>,
  failed: (error: unknown, delayMs: number) => void,
  { backoff, signal }: { readonly backoff: Backoff; readonly signal: AbortSignal },
): Promise<Result | undefined> {
  while (!signal.aborted) {
    try {
      return await attempt()
    } catch (error) {
      const delayMs = backoff.next()
      failed(error, delayMs)
      await pause(delayMs, signal)
    }
  }
  return undefined
}

// Waiting that may end early.

/**
 * Waits until one of these is there, `ms` at the longest. Leaves no timer behind: a process that has stopped would stay until it is over.
 *
 * @param isAwaited whether the process stays for it meanwhile.
 */
export async function rest(ms: number, ends: readonly Promise<unknown>[], isAwaited = true): Promise<void> {
  const over = new AbortController()
  try {
    await Promise.race([...ends, sleep(ms, undefined, { signal: over.signal, ref: isAwaited }).catch(() => undefined)])
  } finally {
    over.abort()
  }
}
