// Waiting for work elsewhere no longer than it may use a processor. Time on the clock passes as well while a busy machine gives the work none.

import { setTimeout as delay } from 'node:timers/promises'

/** The time of a processor that the work has had, in milliseconds, since it began or any earlier moment. */
export type ProcessorTime = () => Promise<number>

/** Resolves when the work has used `ms` more of a processor than now; never when the signal is aborted before. */
export async function whenUsed(time: ProcessorTime, ms: number, signal: AbortSignal): Promise<void> {
  const began = time()
  let left = ms
  while (left > 0) {
    // In the time on the clock no more can be used.
    if (await isAborted(delay(Math.max(1, left), undefined, { signal }))) return await never()
    left = ms - ((await time()) - (await began))
  }
}

async function isAborted(wait: Promise<void>): Promise<boolean> {
  try {
    await wait
    return false
  } catch {
    return true
  }
}

async function never(): Promise<never> {
  return await new Promise<never>(() => undefined)
}
