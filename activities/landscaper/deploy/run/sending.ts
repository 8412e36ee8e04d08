// First tries of items on their way in this process. A try that takes longer than its run can wait goes on; the activity that the run then
// schedules for the item joins it, here, instead of doing it again. On another worker it is done again, which every try stands.

import type { ItemAct } from './deployer.ts'
import type { ItemInput, ItemResult } from './run-item.ts'

// Longer than Temporal takes to bring an activity to a worker that has slots.
const JOINED_WITHIN_MS = 15_000

/** One try; `end` rejects as the try does. */
export interface Try {
  readonly end: Promise<ItemResult>
  readonly abort: () => void
}

export class Sending {
  readonly #tries = new Map<string, Try>()
  readonly #joinedWithinMs: number

  /** @param joinedWithinMs a try that was left, and that nobody joins for so long, is ended. */
  constructor(joinedWithinMs = JOINED_WITHIN_MS) {
    this.#joinedWithinMs = joinedWithinMs
  }

  /** The item's try in this process; begins one when there is none. */
  begin(key: string, work: (signal: AbortSignal) => Promise<ItemResult>): Try {
    const known = this.#tries.get(key)
    if (known !== undefined) return known
    const ending = new AbortController()
    const begun: Try = { end: work(ending.signal), abort: () => ending.abort() }
    this.#tries.set(key, begun)
    return begun
  }

  /** The try is not waited for any more; how it ends is kept for whoever joins it. */
  leave(key: string): void {
    const left = this.#tries.get(key)
    // Whoever joins it sees how it ends.
    left?.end.catch(() => undefined)
    setTimeout(() => {
      if (this.#tries.get(key) !== left) return
      this.#tries.delete(key)
      left?.abort()
    }, this.#joinedWithinMs).unref()
  }

  /** The item's try, once: it is the caller's now. Undefined when there is none. */
  take(key: string): Try | undefined {
    const taken = this.#tries.get(key)
    this.#tries.delete(key)
    return taken
  }
}

/** How a joined try ends. Aborted with the signal. */
export async function joined({ end, abort }: Try, signal: AbortSignal): Promise<ItemResult> {
  if (signal.aborted) abort()
  signal.addEventListener('abort', abort, { once: true })
  try {
    return await end
  } finally {
    signal.removeEventListener('abort', abort)
  }
}

/** One try of one item in one job. */
export function keyOf({ uid, jobID }: Pick<ItemInput, 'uid' | 'jobID'>, act: ItemAct): string {
  return `${act}/${uid}/${jobID}`
}
