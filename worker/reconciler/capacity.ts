// Runs that this dispatcher has started or woken and that have not begun, or looked again: they stand in Temporal's queue, first come, first served. Few may, so that what
// another namespace asks for next has little before it. Source: docs/adr/0028.
//
//   R1. A run has begun with its first local activity: here that is seen at once, in another process by the passes that its row counts.
//   R2. Nobody is waited for longer than LONGEST_MS: when no worker serves the queue, starts go on at that pace.

import type { Kysely } from 'kysely'

import type { Database } from '../../activities/journal/database.ts'
import { permitHolders } from '../../activities/journal/write/pass-permits.ts'
import type { Wake } from '../../activities/journal/write/wakes.ts'
import type { InFlightRuns } from '../../activities/run/in-flight-runs.ts'
import type { Registry } from '../server/registry.ts'

/** Enough for all slots of workflow tasks to find the next one when they are free. */
const MOST_FRESH = 6
const LONGEST_MS = 10_000
const LOOK_MS = 500
/** How many starts are remembered for the turns of namespaces. */
const REMEMBERED = 64

export interface FreshRunsDeps {
  readonly inFlightRuns: InFlightRuns
  /**
   * @param passes by workflow ID, how many passes are known of.
   * @returns those whose runs have made more, by their rows, or have ended. @throws when the journal cannot be read.
   */
  readonly begun: (passes: ReadonlyMap<string, number>) => Promise<readonly string[]>
}

interface Waits {
  readonly ends: Set<() => void>
  /** Of its run, when the first wait began. */
  readonly passes: number
}

export class FreshRuns {
  readonly #deps: FreshRunsDeps
  /** By workflow ID: what ends the waits. In level mode, and where two wakes lead to one run, several may be for one. */
  readonly #waiting = new Map<string, Waits>()
  /** Namespaces of the last starts. */
  readonly #turns: string[] = []
  #taken = 0
  #timer: NodeJS.Timeout | undefined

  constructor(deps: FreshRunsDeps) {
    this.#deps = deps
    deps.inFlightRuns.onCall((workflowID) => this.forget(workflowID))
  }

  /** How many wakes that may start a run may be taken. */
  get free(): number {
    return Math.max(0, MOST_FRESH - this.#taken)
  }

  /** How many of the last starts each namespace had. */
  turns(): Record<string, number> {
    // A map: namespaces may be called as what every object has, such as `constructor`.
    const turns = new Map<string, number>()
    for (const namespace of this.#turns) turns.set(namespace, (turns.get(namespace) ?? 0) + 1)
    return Object.fromEntries(turns)
  }

  /** A wake was taken that may start a run. @returns to be called when it is known that it starts none, or that the run has begun. */
  take(namespace: string): () => void {
    this.#taken++
    this.#turns.push(namespace)
    if (this.#turns.length > REMEMBERED) this.#turns.shift()
    let isOver = false
    return () => {
      if (isOver) return
      isOver = true
      this.#taken--
    }
  }

  /**
   * The run is about to be started or woken.
   *
   * @param passes how many it has made by its row, where it is woken.
   * @param late called when it has not begun for LONGEST_MS.
   * @returns resolves when it has begun another pass, here or elsewhere (R1, R2), or `forget` is called.
   */
  async expect(
    workflowID: string,
    { passes = 0, late }: { readonly passes?: number; readonly late?: () => void } = {},
  ): Promise<void> {
    const waits = this.#waiting.get(workflowID) ?? { ends: new Set(), passes }
    this.#waiting.set(workflowID, waits)
    this.#timer ??= setInterval(() => void this.#look(), LOOK_MS).unref()
    await new Promise<void>((resolve) => {
      waits.ends.add(resolve)
      setTimeout(() => {
        if (this.#waiting.get(workflowID) === waits) late?.()
        resolve()
      }, LONGEST_MS).unref()
    })
    if (this.#waiting.get(workflowID) === waits) this.forget(workflowID)
    if (this.#waiting.size > 0) return
    clearInterval(this.#timer)
    this.#timer = undefined
  }

  /** The run has begun, or does not begin. */
  forget(workflowID: string): void {
    const waits = this.#waiting.get(workflowID)
    if (waits === undefined) return
    this.#waiting.delete(workflowID)
    for (const end of waits.ends) end()
  }

  async #look(): Promise<void> {
    try {
      const passes = new Map([...this.#waiting].map(([workflowID, waits]) => [workflowID, waits.passes] as const))
      for (const workflowID of await this.#deps.begun(passes)) this.forget(workflowID)
    } catch {
      // The dispatcher tells that the journal is away; R2 ends the wait.
    }
  }
}

// Who claims wakes first: the controllers without a bound together, or one of those that bound their passes. What can be started is little and is given
// back piece by piece (fresh-runs.ts), so whoever always came first would have all of it for as long as it has more.

/** The controllers that bound nothing, together. */

export const UNBOUNDED = ''

export class ClaimOrder {
  /** Those that have had all there was, longest ago first. */
  readonly #served = new Set<string>()

  /** UNBOUNDED and these, in the order in which they may claim. */
  of(bounded: Iterable<string>): readonly string[] {
    const claimants = new Set([UNBOUNDED, ...bounded])
    return [...[...claimants].filter((name) => !this.#served.has(name)), ...this.#served].filter((name) =>
      claimants.has(name),
    )
  }

  /** It has taken what was left: all others come before it. */
  hadAll(claimant: string): void {
    this.#served.delete(claimant)
    this.#served.add(claimant)
  }
}

// How many wakes a dispatcher may bring to controllers that bound their passes: what has no room stays in the journal, where it costs nothing. A run asks
// for its turn itself (activities/journal/write/pass-permits.ts), so this may be wrong for a moment, and saves only runs that would wait.

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
    const taken = await permitHolders(db, { cluster, controllers: bounded }, now)
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
