// Work that outlives a pass: a track is a chain of activities for one item of many, or alone. It holds up no pass and no other item;
// when it fails, or is the last to end, the loop is woken. Pure: how work is started and cancelled comes from loop/temporal.ts.
//
//   K1. One track per key at a time; a key whose failure no pass has seen yet is not started again.
//   K2. What a track did enters the state when it ends, so that what people see is right without a pass.
//   K3. No more than MOST_RUNNING run at once: Temporal refuses a run that has thousands of activities open. The others follow as tracks end.

import { done, joinOutcomes, type Outcome } from '../../plan/outcome.ts'

/** How the run's state changes by what a track did. */
export type StateChange<State> = (state: State) => State

export interface BackgroundActivities<State> {
  /** Whether the key runs, is about to, or failed unseen (K1). */
  has(key: string): boolean
  /** Starts `work` unless its key runs already (K1). */
  start(key: string, work: () => Promise<StateChange<State>>): void
  /** Cancels the tracks of all other keys: their items have ended otherwise. */
  retain(keys: ReadonlySet<string>): void
}

/** Work on its way. `end` rejects as the work does; after `cancel` it may, and nobody minds. */
export interface StartedWork<T> {
  readonly end: Promise<T>
  cancel(): void
}

export interface BackgroundHooks<State> {
  readonly start: <T>(work: () => Promise<T>) => StartedWork<T>
  /** Failures of the world as an outcome; undefined for a bug. */
  readonly toOutcome: (error: unknown) => Outcome | undefined
  readonly ended: (change: StateChange<State>) => void
  readonly wake: () => void
}

export interface BackgroundActivitySet<State> extends BackgroundActivities<State> {
  readonly running: number
  /** What failed since the last call, joined. @throws the error of a track that met a bug */
  takeFailures(): Outcome
  stop(): void
}

// Far below Temporal's limit of 2000 pending activities, for a chain may have two of them for a moment.
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
      const met = [...failures.values()]
      failures.clear()
      return met.length === 0 ? done : joinOutcomes(...met)
    },
  }
}
