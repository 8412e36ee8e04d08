// First attempts of items that run in this process. An attempt that takes longer than its call continues, and the item's next activity joins it
// instead of repeating it. On another worker the activity repeats the attempt; attempts are idempotent.

import type { ItemAct } from './deployer.ts'
import type { ItemInput, ItemResult } from './run-item.ts'

// Longer than Temporal needs to schedule an activity on a worker with free slots.
const JOINED_WITHIN_MS = 15_000

/** One attempt; `end` rejects like the attempt. */
export interface Try {
  readonly end: Promise<ItemResult>
  readonly abort: () => void
}

export class Sending {
  readonly #tries = new Map<string, Try>()
  readonly #joinedWithinMs: number

  /** @param joinedWithinMs an attempt that no activity joins within this time is aborted. */
  constructor(joinedWithinMs = JOINED_WITHIN_MS) {
    this.#joinedWithinMs = joinedWithinMs
  }

  /** The item's attempt in this process; starts one if none exists. */
  begin(key: string, work: (signal: AbortSignal) => Promise<ItemResult>): Try {
    const known = this.#tries.get(key)
    if (known !== undefined) return known
    const ending = new AbortController()
    const begun: Try = { end: work(ending.signal), abort: () => ending.abort() }
    this.#tries.set(key, begun)
    return begun
  }

  /** Stops waiting for the attempt; its result stays available for `take`. */
  leave(key: string): void {
    const left = this.#tries.get(key)
    // The joining activity handles the rejection.
    left?.end.catch(() => undefined)
    setTimeout(() => {
      if (this.#tries.get(key) !== left) return
      this.#tries.delete(key)
      left?.abort()
    }, this.#joinedWithinMs).unref()
  }

  /** Removes and returns the item's attempt; undefined if none exists. */
  take(key: string): Try | undefined {
    const taken = this.#tries.get(key)
    this.#tries.delete(key)
    return taken
  }
}

/** The result of a joined attempt. The signal aborts the attempt. */
export async function joined({ end, abort }: Try, signal: AbortSignal): Promise<ItemResult> {
  if (signal.aborted) abort()
  signal.addEventListener('abort', abort, { once: true })
  try {
    return await end
  } finally {
    signal.removeEventListener('abort', abort)
  }
}

/** Identifies one attempt of one item in one job. */
export function keyOf({ uid, jobID }: Pick<ItemInput, 'uid' | 'jobID'>, act: ItemAct): string {
  return `${act}/${uid}/${jobID}`
}
