// BackgroundActivities that run when the test says so.

import type { StateChange, BackgroundActivities } from '../../../workflows/kit/index.ts'

export class HeldTracks<State> implements BackgroundActivities<State> {
  readonly held = new Map<string, () => Promise<StateChange<State>>>()
  /** As the last pass said; undefined while none did. */
  retained: ReadonlySet<string> | undefined

  has(key: string): boolean {
    return this.held.has(key)
  }

  start(key: string, work: () => Promise<StateChange<State>>): void {
    this.held.set(key, work)
  }

  retain(keys: ReadonlySet<string>): void {
    this.retained = keys
  }
}
