// Time, as the injector has it: a seam, by which tests let hours pass.

import { setTimeout } from 'node:timers/promises'

export interface Clock {
  /** Milliseconds since 1970. */
  readonly now: () => number
  /** Resolves after so long, or as soon as the signal is aborted; it never fails. */
  readonly sleep: (ms: number, until: AbortSignal) => Promise<void>
}

/** Node's timers hold no more at once. */
const LONGEST_MS = 2 ** 31 - 1

export const systemClock: Clock = {
  now: () => Date.now(),
  sleep: async (ms, until) => {
    const end = Date.now() + ms
    for (let left = ms; left > 0 && !until.aborted; left = end - Date.now())
      await setTimeout(Math.min(left, LONGEST_MS), undefined, { signal: until }).catch((error: unknown) => {
        if (!until.aborted) throw error
      })
  },
}
