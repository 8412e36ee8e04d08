// Limits how many wakes the dispatcher claims: runs whose next pass is still pending, concurrent passes of a controller, and the order of controllers.
// Source: docs/adr/0028.
//
// Pending runs. A run that this dispatcher started or signalled waits in Temporal's queue, which is first in, first out. Their number is limited, so that
// wakes of other namespaces do not wait behind a backlog.
//
//   R1. A pass has started with its first local activity. This process observes its own activities; for runs of other processes it compares the number
//       of passes in the run's row.
//   R2. A run counts as pending for at most MAX_WAIT_MS. If no worker polls the queue, starts continue at that pace.

import type { Kysely } from 'kysely'

import type { Database } from '../../activities/journal/database.ts'
import { permitHolders } from '../../activities/journal/write/pass-permits.ts'
import type { Wake } from '../../activities/journal/write/wakes.ts'
import type { InFlightRuns } from '../../activities/run/in-flight-runs.ts'
import type { Registry } from '../server/registry.ts'

/** Enough for every workflow task slot to find another task when it becomes free. */
const MAX_PENDING = 6
const MAX_WAIT_MS = 10_000
const POLL_MS = 500
/** The number of starts that count for the fair order of namespaces. */
const MAX_RECENT_STARTS = 64

export interface PendingRunsDeps {
  readonly inFlightRuns: InFlightRuns
  /**
   * @param passes the known number of passes, by workflow ID.
   * @returns the runs whose rows show more passes, and the runs that have ended. @throws if the journal cannot be read.
   */
  readonly findAdvancedRuns: (passes: ReadonlyMap<string, number>) => Promise<readonly string[]>
}

interface PassWaits {
  readonly resolvers: Set<() => void>
  /** The run's number of passes when the first wait began. */
  readonly passes: number
}

export class PendingRuns {
  readonly #deps: PendingRunsDeps
  /** By workflow ID. A run may have several waits: in level mode, and when two wakes lead to the same run. */
  readonly #waits = new Map<string, PassWaits>()
  /** The namespaces of the most recent starts. */
  readonly #recentStarts: string[] = []
  #acquired = 0
  #timer: NodeJS.Timeout | undefined

  constructor(deps: PendingRunsDeps) {
    this.#deps = deps
    deps.inFlightRuns.onCall((workflowID) => this.passStarted(workflowID))
  }

  /** The number of wakes that may still be claimed if they can start a run. */
  get freeStarts(): number {
    return Math.max(0, MAX_PENDING - this.#acquired)
  }

  /** The number of recent starts, by namespace. */
  recentStarts(): Record<string, number> {
    // A Map, because a namespace may be called like a property of every object, such as `constructor`.
    const starts = new Map<string, number>()
    for (const namespace of this.#recentStarts) starts.set(namespace, (starts.get(namespace) ?? 0) + 1)
    return Object.fromEntries(starts)
  }

  /** Counts a claimed wake that may start a run. @returns the function that releases it: when the wake starts no run, or when the run's pass has started. */
  acquire(namespace: string): () => void {
    this.#acquired++
    this.#recentStarts.push(namespace)
    if (this.#recentStarts.length > MAX_RECENT_STARTS) this.#recentStarts.shift()
    let isReleased = false
    return () => {
      if (isReleased) return
      isReleased = true
      this.#acquired--
    }
  }

  /**
   * Waits for the next pass of a run that is about to be started or signalled.
   *
   * @param passes the number of passes in the run's row, if it is signalled.
   * @param late called if no pass has started after MAX_WAIT_MS.
   * @returns resolves when a pass has started in any process (R1), after MAX_WAIT_MS (R2), or when `passStarted` is called.
   */
  async waitForPass(
    workflowID: string,
    { passes = 0, late }: { readonly passes?: number; readonly late?: () => void } = {},
  ): Promise<void> {
    const waits = this.#waits.get(workflowID) ?? { resolvers: new Set(), passes }
    this.#waits.set(workflowID, waits)
    this.#timer ??= setInterval(() => void this.#poll(), POLL_MS).unref()
    await new Promise<void>((resolve) => {
      waits.resolvers.add(resolve)
      setTimeout(() => {
        if (this.#waits.get(workflowID) === waits) late?.()
        resolve()
      }, MAX_WAIT_MS).unref()
    })
    if (this.#waits.get(workflowID) === waits) this.passStarted(workflowID)
    if (this.#waits.size > 0) return
    clearInterval(this.#timer)
    this.#timer = undefined
  }

  /** The run's pass has started, or the run will not start. */
  passStarted(workflowID: string): void {
    const waits = this.#waits.get(workflowID)
    if (waits === undefined) return
    this.#waits.delete(workflowID)
    for (const resolve of waits.resolvers) resolve()
  }

  async #poll(): Promise<void> {
    try {
      const passes = new Map([...this.#waits].map(([workflowID, waits]) => [workflowID, waits.passes] as const))
      for (const workflowID of await this.#deps.findAdvancedRuns(passes)) this.passStarted(workflowID)
    } catch {
      // The dispatcher logs that the journal is away; R2 ends the wait.
    }
  }
}

// The order in which controllers claim wakes: all controllers without a limit on passes together, and each controller with a limit. Free starts are few and
// are released one by one. A controller that always came first would take all of them while it has a backlog.

/** The claimant that represents all controllers without a limit on passes. */
export const UNLIMITED = ''

export class ClaimOrder {
  /** Claimants that used all free starts; the earliest first. */
  readonly #exhausted = new Set<string>()

  /** All claimants, in the order in which they may claim. */
  orderOf(limited: Iterable<string>): readonly string[] {
    const claimants = new Set([UNLIMITED, ...limited])
    const exhausted = [...this.#exhausted].filter((name) => claimants.has(name))
    return [...claimants].filter((name) => !this.#exhausted.has(name)).concat(exhausted)
  }

  /** The claimant used all free starts: all others claim before it. */
  moveToEnd(claimant: string): void {
    this.#exhausted.delete(claimant)
    this.#exhausted.add(claimant)
  }
}

// The remaining concurrency of controllers that limit their passes. Wakes beyond the limit stay in the journal, where they cost nothing. The run itself
// acquires the permit of its pass from the journal, so this number may be wrong for a moment; it only avoids starting runs that would wait.

export class PassCapacity {
  /** The limit of concurrent passes, by controller. */
  readonly #limits: ReadonlyMap<string, number>
  /** By controller: uids of objects with wakes in delivery, and their number. Their passes may not have acquired a permit yet. */
  readonly #inDelivery = new Map<string, Map<string, number>>()

  constructor({ levels }: Pick<Registry, 'levels'>) {
    this.#limits = new Map(
      levels.flatMap(({ name, settings }) =>
        settings?.passes === undefined ? [] : [[name, settings.passes] as const],
      ),
    )
  }

  hasLimit(controller: string): boolean {
    return this.#limits.has(controller)
  }

  /** @returns for each of these controllers that has a limit, the number of wakes that may be claimed. @throws if the journal cannot be read. */
  async remaining(
    db: Kysely<Database>,
    { cluster, controllers }: { readonly cluster: string; readonly controllers: readonly string[] },
    now: Date,
  ): Promise<ReadonlyMap<string, number>> {
    const limited = controllers.filter((controller) => this.hasLimit(controller))
    if (limited.length === 0) return new Map()
    const taken = await permitHolders(db, { cluster, controllers: limited }, now)
    return new Map(limited.map((name) => [name, this.#remainingOf(name, taken.get(name) ?? [])]))
  }

  /** An object with a permit is no longer in delivery, even after its pass releases the permit: its run may be in another process. */
  #remainingOf(controller: string, taken: readonly string[]): number {
    const inDelivery = this.#inDelivery.get(controller)
    for (const uid of taken) inDelivery?.delete(uid)
    const uids = new Set([...taken, ...(inDelivery?.keys() ?? [])])
    return Math.max(0, (this.#limits.get(controller) ?? 0) - uids.size)
  }

  /**
   * Counts a wake in delivery. @returns the function that releases it: when the pass has started, or when the wake leads to no pass. Undefined for a
   * controller without a limit.
   */
  acquire({ controller, uid }: Pick<Wake, 'controller' | 'uid'>): (() => void) | undefined {
    if (!this.hasLimit(controller)) return undefined
    const inDelivery = this.#inDelivery.get(controller) ?? new Map<string, number>()
    this.#inDelivery.set(controller, inDelivery.set(uid, (inDelivery.get(uid) ?? 0) + 1))
    let isReleased = false
    return () => {
      if (isReleased) return
      isReleased = true
      const left = (inDelivery.get(uid) ?? 0) - 1
      if (left > 0) inDelivery.set(uid, left)
      else inDelivery.delete(uid)
    }
  }
}
