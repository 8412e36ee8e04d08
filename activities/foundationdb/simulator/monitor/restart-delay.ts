// Computes the delay before a process starts again. The recordings show: the initial delay first, then delays that grow
// by the factor up to the longest delay, each varied by at most 2 s unless it is 0 (recordings 20/008, 010, 011, 015).

import type { RestartDelays } from './configuration.ts'

const LARGEST_VARIATION = 2

export class RestartDelay {
  private next: number | undefined

  /**
   * Returns the delay in whole seconds.
   * @param ranSeconds how long the process ran
   * @param random a number in [0, 1)
   */
  after(ranSeconds: number, delays: RestartDelays, random: number): number {
    if (this.next === undefined || ranSeconds >= delays.resetAfter) this.next = delays.initial
    const delay = Math.min(this.next, delays.longest)
    this.next = Math.min(delays.longest, delays.backoff * Math.max(1, delay))
    if (delay === 0) return 0
    return Math.max(1, Math.round(delay) + Math.floor(random * (2 * LARGEST_VARIATION + 1)) - LARGEST_VARIATION)
  }

  reset(): void {
    this.next = undefined
  }
}
