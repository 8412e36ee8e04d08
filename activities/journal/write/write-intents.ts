// Which writes of this process need no row before they are sent: the object is held already, by a row of an earlier write of the same run that the
// journal has not seen the end of. So an object that a pass writes three times is named once, and the rest comes with the flush.
//
//   H1. A row covers another one of its run and object for COVER_MS, half of what the bridge holds, and not once a flush has taken its end.
//   H2. A flush that takes the end of a row brings along those that it covered and that are on their way still: the object stays held.
//   H3. A process that dies leaves the covering row open: what it sent meanwhile is journaled under the same run (actions.ts, A2).

import { HOLD_MS, type NewAction } from './actions.ts'

const COVER_MS = HOLD_MS / 2
const MOST_RUNS = 10_000

interface Intent {
  readonly row: NewAction
  /** The journal has it. */
  isStored: boolean
  /** Its end goes, or has gone, to the journal. */
  isTaken: boolean
}

type Key = Pick<NewAction, 'run_id' | 'pass' | 'step' | 'object' | 'verb' | 'started_at'>

export class WriteIntents {
  /** By run ID, then by the rest of the key. */
  readonly #runs = new Map<string, Map<string, Intent>>()

  /** @returns those of the rows that the journal must be told of before their writes are sent; `stored` is to be called when it knows them. */
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

  /** Nothing was begun. */
  remove(rows: readonly NewAction[]): void {
    for (const row of rows) this.#forget(row)
  }

  /** A flush takes the ends of these rows. @returns the rows that it has to bring along (H2); `stored` is to be called when it has. */
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

  /** The flush is over. */
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

  /** A step may write an object again in the same pass, or be repeated: the later write has the key then. */
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
