// Clock of the injector. Tests replace it to advance and to set the time.
//
// C1. Durations are measured by the monotonic clock, so setting the machine's clock does not change them.
// C2. A deadline has passed as soon as one of two clocks says so: the machine's clock, or the monotonic clock counted
//   from the first look at the deadline.

import { setTimeout } from 'node:timers/promises'

export interface Clock {
  /** Milliseconds since the epoch by the machine's clock, which may be set. */
  readonly now: () => number
  /** Milliseconds of the monotonic clock. */
  readonly steady: () => number
  /** Resolves after this time (C1), or when the signal is aborted; it never fails. */
  readonly sleep: (ms: number, until: AbortSignal) => Promise<void>
}

/** The maximum delay of Node's timers. */
const MAX_TIMER_MS = 2 ** 31 - 1

const steady = () => performance.now()

export const systemClock: Clock = {
  now: () => Date.now(),
  steady,
  sleep: async (ms, until) => {
    const end = steady() + ms
    for (let left = ms; left > 0 && !until.aborted; left = end - steady())
      await setTimeout(Math.min(left, MAX_TIMER_MS), undefined, { signal: until }).catch((error: unknown) => {
        if (!until.aborted) throw error
      })
  },
}

/** C2 */
export interface Deadline {
  readonly isOver: () => boolean
  /**
   * Resolves when the deadline has passed, within a second after a change of the machine's clock, or when the signal is
   * aborted.
   */
  readonly passed: (until: AbortSignal) => Promise<void>
}

/** No event reports a change of the machine's clock. */
const CHECK_MS = 1000

/** @param at milliseconds since the epoch. */
export function deadlineAt(at: number, clock: Clock): Deadline {
  const end = clock.steady() + (at - clock.now())
  const leftMs = () => Math.min(at - clock.now(), end - clock.steady())
  return {
    isOver: () => leftMs() <= 0,
    passed: async (until) => {
      for (let left = leftMs(); left > 0 && !until.aborted; left = leftMs())
        await clock.sleep(Math.min(left, CHECK_MS), until)
    },
  }
}

/**
 * Resolves when the machine's clock shows the time, even if it is set back meanwhile, or when the signal is aborted.
 */
export async function untilTime(at: number, clock: Clock, until: AbortSignal): Promise<void> {
  for (let left = at - clock.now(); left > 0 && !until.aborted; left = at - clock.now()) await clock.sleep(left, until)
}
