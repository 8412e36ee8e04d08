// Time, as the injector has it: a seam, by which tests let hours pass, and set clocks.
//
//   C1. How long something takes goes by the steady clock: who sets the machine's makes nothing longer.
//   C2. A deadline has come when either clock says so: the machine's, or the steady one by what was left when it was first looked at.

import { setTimeout } from 'node:timers/promises'

export interface Clock {
  /** Milliseconds since 1970, by the machine's clock, which may be set. */
  readonly now: () => number
  /** Milliseconds by a clock that nobody sets. */
  readonly steady: () => number
  /** Resolves after so long (C1), or as soon as the signal is aborted; it never fails. */
  readonly sleep: (ms: number, until: AbortSignal) => Promise<void>
}

/** Node's timers hold no more at once. */
const LONGEST_MS = 2 ** 31 - 1

const steady = () => performance.now()

export const systemClock: Clock = {
  now: () => Date.now(),
  steady,
  sleep: async (ms, until) => {
    const end = steady() + ms
    for (let left = ms; left > 0 && !until.aborted; left = end - steady())
      await setTimeout(Math.min(left, LONGEST_MS), undefined, { signal: until }).catch((error: unknown) => {
        if (!until.aborted) throw error
      })
  },
}

/** C2 */
export interface Deadline {
  readonly isOver: () => boolean
  /** Resolves when it has come, within a second of a clock that is set, or as soon as the signal is aborted. */
  readonly comes: (until: AbortSignal) => Promise<void>
}

/** Nobody tells that the machine's clock was set. */
const LOOK_MS = 1000

/** @param at milliseconds since 1970. */
export function deadlineAt(at: number, clock: Clock): Deadline {
  const end = clock.steady() + (at - clock.now())
  const leftMs = () => Math.min(at - clock.now(), end - clock.steady())
  return {
    isOver: () => leftMs() <= 0,
    comes: async (until) => {
      for (let left = leftMs(); left > 0 && !until.aborted; left = leftMs())
        await clock.sleep(Math.min(left, LOOK_MS), until)
    },
  }
}

/** Resolves when the machine's clock says so, also where that is set back meanwhile; or as soon as the signal is aborted. */
export async function untilTime(at: number, clock: Clock, until: AbortSignal): Promise<void> {
  for (let left = at - clock.now(); left > 0 && !until.aborted; left = at - clock.now()) await clock.sleep(left, until)
}
