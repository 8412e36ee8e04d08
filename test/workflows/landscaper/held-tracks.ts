// Tracks that run when the test says so.

import type { Change, Tracks } from '../../../workflows/kit/index.ts'

export class HeldTracks<State> implements Tracks<State> {
  readonly held = new Map<string, () => Promise<Change<State>>>()
  /** As the last pass said; undefined while none did. */
  retained: ReadonlySet<string> | undefined

  has(key: string): boolean {
    return this.held.has(key)
  }

  start(key: string, work: () => Promise<Change<State>>): void {
    this.held.set(key, work)
  }

  retain(keys: ReadonlySet<string>): void {
    this.retained = keys
  }
}
