// How many wakes a dispatcher may bring to controllers that bound their passes: what has no room stays in the journal, where it costs nothing. A run asks
// for its turn itself (activities/journal/write/pass-turns.ts), so this may be wrong for a moment, and saves only runs that would wait.

import type { Kysely } from 'kysely'
import type { Database } from '../../activities/journal/database.ts'
import { turnsTaken } from '../../activities/journal/write/pass-turns.ts'
import type { Wake } from '../../activities/journal/write/wakes.ts'
import type { Registry } from '../server/registry.ts'

export class PassRoom {
  /** By controller, how many passes may be under way. */
  readonly #bounds: ReadonlyMap<string, number>
  /** By controller, the uids of objects whose wakes were brought from here, and how many: their passes may have no turn yet. */
  readonly #coming = new Map<string, Map<string, number>>()

  constructor({ levels }: Pick<Registry, 'levels'>) {
    this.#bounds = new Map(
      levels.flatMap(({ name, settings }) =>
        settings?.passes === undefined ? [] : [[name, settings.passes] as const],
      ),
    )
  }

  isBounded(controller: string): boolean {
    return this.#bounds.has(controller)
  }

  /** For how many wakes of each bounded one of these controllers there is room. @throws when the journal cannot be read. */
  async left(
    db: Kysely<Database>,
    { cluster, controllers }: { readonly cluster: string; readonly controllers: readonly string[] },
    now: Date,
  ): Promise<ReadonlyMap<string, number>> {
    const bounded = controllers.filter((controller) => this.isBounded(controller))
    if (bounded.length === 0) return new Map()
    const taken = await turnsTaken(db, { cluster, controllers: bounded }, now)
    return new Map(bounded.map((name) => [name, this.#leftOf(name, taken.get(name) ?? [])]))
  }

  /** Who has a turn is not coming any more, also when it has given that back: its run may be in another process, which tells nobody here. */
  #leftOf(controller: string, taken: readonly string[]): number {
    const coming = this.#coming.get(controller)
    for (const uid of taken) coming?.delete(uid)
    const uids = new Set([...taken, ...(coming?.keys() ?? [])])
    return Math.max(0, (this.#bounds.get(controller) ?? 0) - uids.size)
  }

  /** A wake is brought. @returns to be called when its pass has begun, or it leads to none; undefined for a controller without bound. */
  take({ controller, uid }: Pick<Wake, 'controller' | 'uid'>): (() => void) | undefined {
    if (!this.isBounded(controller)) return undefined
    const coming = this.#coming.get(controller) ?? new Map<string, number>()
    this.#coming.set(controller, coming.set(uid, (coming.get(uid) ?? 0) + 1))
    let isOver = false
    return () => {
      if (isOver) return
      isOver = true
      const left = (coming.get(uid) ?? 0) - 1
      if (left > 0) coming.set(uid, left)
      else coming.delete(uid)
    }
  }
}
