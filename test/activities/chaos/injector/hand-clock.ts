// A clock that only a test advances or sets; setting it does not change the monotonic time.

import type { Clock } from '../../../../activities/chaos/injector/clock.ts'

interface Sleeper {
  readonly at: number
  readonly wake: () => void
}

export class HandClock implements Clock {
  private time = 1_000_000
  private set = 0
  private sleepers: Sleeper[] = []

  readonly now = (): number => this.time + this.set
  readonly steady = (): number => this.time

  readonly sleep = async (ms: number, until: AbortSignal): Promise<void> => {
    if (until.aborted || ms <= 0) return
    await new Promise<void>((resolve) => {
      this.sleepers.push({ at: this.time + ms, wake: resolve })
      until.addEventListener('abort', () => resolve(), { once: true })
    })
  }

  /** Sets the machine's clock forward or back; no timer fires. */
  jump(ms: number): void {
    this.set += ms
  }

  /** Advances the clock, and waits for everything that continues. */
  async turn(ms: number): Promise<void> {
    this.time += ms
    const due = this.sleepers.filter(({ at }) => at <= this.time)
    this.sleepers = this.sleepers.filter(({ at }) => at > this.time)
    for (const { wake } of due) wake()
    await settled()
  }
}

/** Resolves when all pending promises have been processed. */
export async function settled(): Promise<void> {
  for (let turns = 0; turns < 3; turns += 1) await new Promise((resolve) => setImmediate(resolve))
}
