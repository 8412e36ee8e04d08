// Time of the simulation, in seconds. Tests use the virtual clock; the executables use the wall clock, scaled.

export interface Clock {
  /** Seconds since an arbitrary start. */
  now(): number
  /** Runs the action once, `seconds` from now. Returns a function that cancels it. */
  after(seconds: number, action: () => void): () => void
}

/** Resolves `seconds` from now. */
export async function sleep(clock: Clock, seconds: number): Promise<void> {
  await new Promise<void>((resolve) => {
    clock.after(seconds, resolve)
  })
}

interface Timer {
  readonly due: number
  readonly order: number
  readonly action: () => void
}

/** A clock that stands still until `advance` moves it. Timers run in the order of their due times. */
export class VirtualClock implements Clock {
  private time = 0
  private order = 0
  private timers: Timer[] = []

  now(): number {
    return this.time
  }

  after(seconds: number, action: () => void): () => void {
    const timer = { due: this.time + Math.max(0, seconds), order: this.order++, action }
    this.timers.push(timer)
    this.timers.sort((a, b) => a.due - b.due || a.order - b.order)
    return () => {
      this.timers = this.timers.filter((other) => other !== timer)
    }
  }

  /** Runs the next timer that is due until `limit`. Returns false if no timer is due. */
  runNext(limit: number): boolean {
    const next = this.timers[0]
    if (next === undefined || next.due > limit) return false
    this.timers.shift()
    this.time = Math.max(this.time, next.due)
    next.action()
    return true
  }

  /** Moves the time to `time` without running timers; call it when `runNext` returned false. */
  set(time: number): void {
    this.time = Math.max(this.time, time)
  }
}

/** The wall clock. One simulated second takes `scale` real seconds. */
export function scaledClock(scale: number): Clock {
  const start = performance.now()
  return {
    now: () => (performance.now() - start) / 1000 / scale,
    after: (seconds, action) => {
      const timer = setTimeout(action, seconds * scale * 1000)
      return () => {
        clearTimeout(timer)
      }
    },
  }
}
