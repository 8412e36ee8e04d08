// Tracks write intents of this process, to skip rows that are not needed: an unfinished intent of an earlier write of
// the same run already makes the bridge hold the object. So an object that a pass writes three times needs one intent.
//
//   H1. An intent covers further writes of its run and object for COVER_MS, half of the bridge's hold time, and no
//       longer after a flush has taken its end.
//   H2. A flush that takes the end of an intent also stores the covered writes that are still in flight, so the object
//       stays held.
//   H3. A process that dies leaves the covering row open: its other writes are journaled under the same run
//       (actions.ts, A2).

import { HOLD_MS, type NewAction } from './actions.ts'

const COVER_MS = HOLD_MS / 2
const MOST_RUNS = 10_000

interface Intent {
  readonly row: NewAction
  /** The journal contains the row. */
  isStored: boolean
  /** A flush has taken its end. */
  isTaken: boolean
}

type Key = Pick<NewAction, 'run_id' | 'pass' | 'step' | 'object' | 'verb' | 'started_at'>

export class WriteIntents {
  /** By run ID, then by the remaining key. */
  readonly #runs = new Map<string, Map<string, Intent>>()

  /**
   * Adds the intents of writes.
   *
   * @returns the rows that must be stored before their writes are sent; the caller calls `markStored` afterwards.
   */
  begin(rows: readonly NewAction[], now: Date): readonly NewAction[] {
    if (this.#runs.size >= MOST_RUNS) this.#runs.clear()
    const needed = rows.filter((row) => !this.#isCovered(row, now))
    for (const row of rows) {
      const run = this.#runs.get(row.run_id) ?? new Map<string, Intent>()
      this.#runs.set(row.run_id, run)
      run.set(keyOf(row), { row, isStored: false, isTaken: false })
    }
    return needed
  }

  markStored(rows: readonly NewAction[]): void {
    for (const row of rows) {
      const held = this.#find(row)
      if (held !== undefined) held.isStored = true
    }
  }

  /** Removes intents that were not stored. */
  remove(rows: readonly NewAction[]): void {
    for (const row of rows) this.#forget(row)
  }

  /**
   * Called when a flush takes the ends of these rows.
   *
   * @returns the covered rows that the flush must store (H2); the caller calls `markStored` afterwards.
   */
  takeUnstored(complete: readonly Key[]): readonly NewAction[] {
    for (const row of complete) {
      const held = this.#find(row)
      if (held !== undefined) held.isTaken = true
    }
    const runs = new Set(complete.map(({ run_id }) => run_id))
    return [...runs].flatMap((run) =>
      [...(this.#runs.get(run)?.values() ?? [])]
        .filter((held) => !held.isStored && !held.isTaken)
        .map(({ row }) => row),
    )
  }

  /** Removes the intents after the flush. */
  ended(ended: readonly Key[]): void {
    for (const row of ended) this.#forget(row)
  }

  #isCovered({ run_id, object }: NewAction, now: Date): boolean {
    const run = this.#runs.get(run_id)
    if (run === undefined) return false
    const since = now.getTime() - COVER_MS
    return [...run.values()].some(
      ({ row, isStored, isTaken }) => row.object === object && isStored && !isTaken && row.started_at.getTime() > since,
    )
  }

  /** A step may write an object again in the same pass, or be repeated: then the key belongs to the later write. */
  #find(row: Key): Intent | undefined {
    const held = this.#runs.get(row.run_id)?.get(keyOf(row))
    return held?.row.started_at.getTime() === row.started_at.getTime() ? held : undefined
  }

  #forget(row: Key): void {
    if (this.#find(row) === undefined) return
    const run = this.#runs.get(row.run_id)
    run?.delete(keyOf(row))
    if (run?.size === 0) this.#runs.delete(row.run_id)
  }
}

function keyOf({ pass, step, object, verb }: Omit<Key, 'run_id' | 'started_at'>): string {
  return [pass, step, object, verb].join(' ')
}
