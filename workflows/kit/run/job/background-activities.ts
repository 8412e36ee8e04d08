// Background activities: chains of activities for one item of an object that outlive a pass and block neither passes
// nor other items. The run is woken when one fails or the last one ends. Pure: loop/temporal.ts starts and cancels the
// work.
//
//   K1. A key has at most one background activity. A key whose failure no pass has seen is not started again.
//   K2. The result of a background activity changes the run's state when it ends, so that details are correct without a pass.
//   K3. At most MOST_RUNNING run at once, because Temporal rejects runs with thousands of pending activities. The others start when running ones end.

import { done, joinOutcomes, type Outcome } from '../../plan/outcome.ts'

/** The change of the run's state by a background activity. */
export type StateChange<State> = (state: State) => State

export interface BackgroundActivities<State> {
  /** Whether the key's work runs, is queued, or failed unseen (K1). */
  has(key: string): boolean
  /** Starts `work` unless the key already runs (K1). */
  start(key: string, work: () => Promise<StateChange<State>>): void
  /** Cancels the work of all other keys: their items have ended. */
  retain(keys: ReadonlySet<string>): void
}

/** Running work. `end` rejects when the work fails; a rejection after `cancel` is ignored. */
export interface StartedWork<T> {
  readonly end: Promise<T>
  cancel(): void
}

export interface BackgroundHooks<State> {
  readonly start: <T>(work: () => Promise<T>) => StartedWork<T>
  /** The outcome of an activity failure; undefined for a bug. */
  readonly toOutcome: (error: unknown) => Outcome | undefined
  readonly ended: (change: StateChange<State>) => void
  readonly wake: () => void
}

export interface BackgroundActivitySet<State> extends BackgroundActivities<State> {
  readonly running: number
  /** The joined outcome of the failures since the last call. @throws the error of a bug. */
  takeFailures(): Outcome
  stop(): void
}

// Far below Temporal's limit of 2000 pending activities, because a chain may briefly have two of them.
const MOST_RUNNING = 800

export function createBackgroundActivities<State>({
  start,
  toOutcome,
  ended,
  wake,
}: BackgroundHooks<State>): BackgroundActivitySet<State> {
  const running = new Map<string, StartedWork<StateChange<State>>>()
  const queued = new Map<string, () => Promise<StateChange<State>>>()
  const failures = new Map<string, Outcome>()
  const bugs: unknown[] = []

  const follow = async (key: string, work: StartedWork<StateChange<State>>) => {
    const change = await work.end.catch((error: unknown) => {
      if (running.get(key) !== work) return undefined
      const outcome = toOutcome(error)
      if (outcome === undefined) bugs.push(error)
      else failures.set(key, outcome)
      return undefined
    })
    if (running.get(key) !== work) return
    running.delete(key)
    if (change !== undefined) ended(change)
    startQueued()
    if (change === undefined || running.size === 0) wake()
  }

  const startQueued = () => {
    for (const [key, work] of queued) {
      if (running.size >= MOST_RUNNING) return
      queued.delete(key)
      const started = start(work)
      running.set(key, started)
      void follow(key, started)
    }
  }

  return {
    has: (key) => running.has(key) || queued.has(key) || failures.has(key),
    start(key, work) {
      if (running.has(key) || failures.has(key)) return
      queued.set(key, work)
      startQueued()
    },
    retain(keys) {
      for (const key of queued.keys()) if (!keys.has(key)) queued.delete(key)
      for (const [key, work] of running) {
        if (keys.has(key)) continue
        running.delete(key)
        work.cancel()
      }
      startQueued()
    },
    stop() {
      this.retain(new Set())
    },
    get running() {
      return running.size
    },
    takeFailures() {
      if (bugs.length > 0) throw bugs[0]
      const pending = [...failures.values()]
      failures.clear()
      return pending.length === 0 ? done : joinOutcomes(...pending)
    },
  }
}
