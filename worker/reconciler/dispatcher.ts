// The dispatcher: claims due wakes from the journal (the work queue) and delivers them to Temporal. All dispatchers are active; there is no leader.
// Source: docs/concepts/architecture.md "How data flows", "Journal" (wake).
//
//   P1. Claim, call Temporal, acknowledge: no lock is held during a call. After a crash, the lease of a claimed wake expires.
//   P2. A wake is acknowledged only if it signalled or started a run, if it leads to no run, or if its run has already seen it.
//   P3. While Temporal or PostgreSQL is away, no wake is lost: it stays in the journal, and the next attempt is delayed.
//   P4. For a controller that limits its passes, only as many wakes are claimed as its limit allows. Its other wakes delay no other controller.
//   P5. No controller waits for ever behind the backlog of another one: a controller that used all free starts claims after the others (ClaimOrder).
//   P6. The slot of a wake that signalled a run stays in use until the run's next pass starts. A workflow task that waits too long for the worker that caches
//       its run is replayed by another worker (docs/adr/0059).

import { createGroupCommit } from '../../activities/journal/write/group-commit.ts'
import { jobsWithNewPass } from '../../activities/journal/write/jobs.ts'
import {
  acknowledgeWakes,
  type Claim,
  claimWakes,
  nextWakeDue,
  type Postponed,
  postponeWakes,
  type Wake,
} from '../../activities/journal/write/wakes.ts'
import { WakeDelivery, type DeliveryDeps, type DeliveryOptions, type Delivery } from './deliver-wake.ts'
import { ClaimOrder, PendingRuns, PassCapacity, UNLIMITED } from './capacity.ts'
import { excludedPartitions } from './task-queues.ts'
import { delayAfter, waitForAny } from '../server/backoff.ts'
import { builtInRegistry } from '../server/registry.ts'

export interface DispatcherOptions extends DeliveryOptions {
  readonly owner: string
  /** The longest time between two claims if no notification arrives. */
  readonly idleMs: number
  /** How long a slot stays in use for a signalled run whose pass does not start (P6): the run may be in another process, or its worker may be dead. */
  readonly wokenSlotMs: number
}

export interface DispatcherDeps extends DeliveryDeps {
  /** Called with the result of every call to the journal and Temporal, for /readyz. */
  readonly report: (part: 'journal' | 'temporal', error: unknown) => void
}

// The back-off of a wake that cannot be delivered, for example because Temporal rejects it.
const DELIVERY_DELAYS = { first: 400, longest: 30_000 }
const MAX_FAILING_WAKES = 10_000
const CONTENDED_MS = 20
// After this time the wake no longer counts against its controller's limit: the run may be in another process, and the permit of its pass counts.
const IN_DELIVERY_MS = 1000
const JOURNAL_DELAYS = { first: 200, longest: 10_000 }

/** The statements for delivered wakes; calls at the same time share one statement. */
function journalOf({ db, asyncCommitDb }: DispatcherDeps, { slots }: DispatcherOptions) {
  return {
    acknowledge: createGroupCommit(
      slots,
      async (wakes: readonly Wake[]) => await acknowledgeWakes(asyncCommitDb, wakes),
    ),
    postpone: createGroupCommit(slots, async (postponed: readonly Postponed[]) => {
      await postponeWakes(db, postponed)
      return []
    }),
  }
}

export class Dispatcher {
  readonly #deps: DispatcherDeps
  readonly #journal: ReturnType<typeof journalOf>
  readonly #options: DispatcherOptions
  readonly #pendingRuns: PendingRuns
  readonly #passCapacity: PassCapacity
  readonly #order = new ClaimOrder()
  readonly #delivery: WakeDelivery
  readonly #inFlight = new Set<Promise<void>>()
  /** P6. The number of slots in use for signalled runs. */
  #wokenRuns = 0
  #wakeUp: () => void = () => undefined
  #stopped = false
  #wasFull = false
  #failures = 0
  readonly #failedTimes = new Map<string, number>()

  constructor(deps: DispatcherDeps, options: DispatcherOptions) {
    this.#deps = deps
    this.#options = options
    this.#journal = journalOf(deps, options)
    const findAdvancedRuns = async (runs: ReadonlyMap<string, number>) => await jobsWithNewPass(deps.db, runs)
    this.#pendingRuns = new PendingRuns({ inFlightRuns: deps.inFlightRuns, findAdvancedRuns })
    this.#passCapacity = new PassCapacity(deps.registry ?? builtInRegistry)
    this.#delivery = new WakeDelivery(deps, options, this.#pendingRuns)
  }

  /** A wake may be due: claim at once. */
  notify(): void {
    this.#wakeUp()
  }

  /** Whether due wakes may have been left unclaimed for lack of slots since the last call. */
  wasFull(): boolean {
    const was = this.#wasFull
    this.#wasFull = false
    return was
  }

  /** Runs until `stop`, then waits for the deliveries in flight. */
  async run(): Promise<void> {
    while (!this.#stopped) {
      const notified = new Promise<void>((resolve) => {
        this.#wakeUp = resolve
      })
      const waitMs = await this.#claimDue()
      if (waitMs > 0) await waitForAny(waitMs, [notified, ...(this.#slotsLeft() <= 0 ? this.#inFlight : [])])
    }
    await Promise.all(this.#inFlight)
  }

  stop(): void {
    this.#stopped = true
    this.#wakeUp()
  }

  /** Claims due wakes while there are free slots; returns how long to wait before the next claim. */
  async #claimDue(): Promise<number> {
    const { report, log } = this.#deps
    this.#wasFull ||= this.#isFull()
    if (this.#slotsLeft() <= 0) return this.#options.idleMs
    try {
      const waitMs = await this.#claimAll()
      this.#wasFull ||= this.#isFull()
      report('journal', undefined)
      this.#failures = 0
      return waitMs
    } catch (error) {
      report('journal', error)
      log.warn({ err: error }, 'journal cannot be read; trying again')
      return delayAfter(this.#failures++, JOURNAL_DELAYS, Math.random())
    }
  }

  async #claimAll(): Promise<number> {
    const { asyncCommitDb, now, registry = builtInRegistry } = this.#deps
    const { cluster, idleMs, shares = [] } = this.#options
    // Other processes run the controllers that this process does not know.
    const all = this.#options.controllers ?? [...registry.controllers.keys()]
    const capacities = await this.#passCapacity.remaining(asyncCommitDb, { cluster, controllers: all }, now())
    const unlimited = all.filter((name) => !capacities.has(name))
    const waiting: string[] = []
    // Starts that are released during this round belong to the next one, because the first claimants of this round had their turn.
    const { freeStarts } = this.#pendingRuns
    for (const claimant of this.#order.orderOf(capacities.keys())) {
      const most = capacities.get(claimant)
      const names = claimant === UNLIMITED ? unlimited : [claimant]
      const capacityLeft = await this.#claimFor({ claimant, controllers: names, freeStarts }, most)
      if (capacityLeft === 'nothing') return 0
      if (capacityLeft === 'more') waiting.push(...names)
    }
    const unhandledPartitions = excludedPartitions(shares)
    const due = await nextWakeDue(asyncCommitDb, {
      cluster,
      controllers: waiting,
      unhandledPartitions,
      starts: this.#pendingRuns.freeStarts,
    })
    const dueMs = due === undefined ? idleMs : due.getTime() - now().getTime()
    // Another process is claiming the due wakes that this one could not claim.
    return dueMs <= 0 ? CONTENDED_MS : Math.min(idleMs, dueMs)
  }

  /**
   * P4, P5. @param most the remaining capacity of a controller that limits its passes.
   * @returns the capacity after the claim: nothing for any claimant, full for this claimant, or more.
   */
  async #claimFor(
    round: { readonly claimant: string; readonly controllers: readonly string[]; readonly freeStarts: number },
    most = Number.POSITIVE_INFINITY,
  ): Promise<'nothing' | 'full' | 'more'> {
    const { claimant, controllers } = round
    const slots = this.#slotsLeft()
    const free = Math.min(round.freeStarts, this.#pendingRuns.freeStarts)
    if (slots <= 0) return 'nothing'
    if (most <= 0 || controllers.length === 0) return 'full'
    const bounds = { limit: Math.min(most, slots), starts: Math.min(most, free) }
    const isLimited = Number.isFinite(most)
    const { begins, others } = await this.#claim(controllers, { ...bounds, ...(isLimited && { most }) })
    const usedAll = others >= slots || (free > 0 && begins >= free)
    // If no start was free, the claimant had no chance and keeps its place.
    if (usedAll && free > 0) this.#order.moveToEnd(claimant)
    if (usedAll) return 'nothing'
    return begins + others < most ? 'more' : 'full'
  }

  /** @returns the number of claimed wakes that may start a run, and of all others. */
  async #claim(
    controllers: readonly string[],
    bounds: Pick<Claim, 'limit' | 'starts' | 'most'>,
  ): Promise<{ readonly begins: number; readonly others: number }> {
    const { asyncCommitDb, now } = this.#deps
    const { owner, cluster, leaseMs, shares = [] } = this.#options
    const recentTurns = this.#pendingRuns.recentStarts()
    const claim: Claim = {
      cluster,
      controllers,
      unhandledPartitions: excludedPartitions(shares),
      owner,
      recentTurns,
      leaseMs,
      now: now(),
      ...bounds,
    }
    const wakes = await claimWakes(asyncCommitDb, claim)
    for (const wake of wakes) {
      this.#deps.runMetrics?.wakeClaimed(wake)
      this.#process(wake)
    }
    const begins = wakes.filter((wake) => wake.may_start).length
    return { begins, others: wakes.length - begins }
  }

  #isFull(): boolean {
    return this.#slotsLeft() <= 0 || this.#pendingRuns.freeStarts <= 0
  }

  #slotsLeft(): number {
    return this.#options.slots - this.#inFlight.size - this.#wokenRuns
  }

  #process(wake: Wake): void {
    const start = wake.may_start ? this.#pendingRuns.acquire(wake.namespace) : undefined
    const capacity = this.#passCapacity.acquire(wake)
    const work = this.#dispatch(wake).then((delivery) => {
      this.#inFlight.delete(work)
      this.#release(start, delivery?.started)
      const pass = delivery?.started ?? delivery?.woken
      this.#release(capacity, pass && waitForAny(IN_DELIVERY_MS, [pass], false))
      if (delivery?.woken !== undefined) this.#keepSlot(delivery.woken)
    })
    this.#inFlight.add(work)
  }

  /** P6 */
  #keepSlot(woken: Promise<void>): void {
    this.#wokenRuns++
    void waitForAny(this.#options.wokenSlotMs, [woken], false).then(() => {
      const wasFull = this.#slotsLeft() <= 0
      this.#wokenRuns--
      // A claim costs a statement.
      if (wasFull) this.notify()
    })
  }

  /** Releases capacity at once, or after the promise. */
  #release(release: (() => void) | undefined, after: Promise<void> | undefined): void {
    if (release === undefined) return
    void (after ?? Promise.resolve()).then(() => {
      release()
      this.notify()
    })
  }

  /** @returns undefined if the delivery failed and will be repeated. Never throws. */
  async #dispatch(wake: Wake): Promise<Delivery | undefined> {
    const { log, now, report } = this.#deps
    const subject = { controller: wake.controller, namespace: wake.namespace, name: wake.name, uid: wake.uid }
    try {
      const delivery = await this.#delivery.deliver(wake)
      const { result, retryAt } = delivery
      report('temporal', undefined)
      log.debug({ ...subject, cause: wake.cause, result }, 'wake dispatched')
      if (retryAt !== undefined) await this.#journal.postpone({ wake, due: retryAt })
      else await this.#journal.acknowledge(wake)
      this.#failedTimes.delete(keyOf(wake))
      return delivery
    } catch (error) {
      if (isTemporalFailure(error)) report('temporal', error)
      log.warn({ ...subject, err: error }, 'wake cannot be dispatched; trying again')
      const due = new Date(now().getTime() + this.#nextDelayMs(wake))
      // If the journal is away, too, the lease expires instead.
      await this.#journal.postpone({ wake, due }).catch((cause: unknown) => report('journal', cause))
      return undefined
    }
  }

  #nextDelayMs(wake: Wake): number {
    const key = keyOf(wake)
    const failed = this.#failedTimes.get(key) ?? 0
    // The map is bounded by clearing it: other workers may have delivered these wakes.
    if (this.#failedTimes.size >= MAX_FAILING_WAKES) this.#failedTimes.clear()
    this.#failedTimes.set(key, failed + 1)
    return delayAfter(failed, DELIVERY_DELAYS, Math.random())
  }
}

function keyOf({ controller, uid }: Wake): string {
  return `${controller}/${uid}`
}

// Distinguishes failures of Temporal, which concern all wakes and make /readyz fail, from failures of one wake. A subject for which no run can be started
// must not make a worker not ready, because its other work would stop.

const INVALID_ARGUMENT = 3
const UNKNOWN = 2

/** Whether Temporal failed, so that the next wake would fail, too. Missing search attributes count: no run can be started without them. */
export function isTemporalFailure(error: unknown): boolean {
  const found = grpcStatus(error)
  if (found === undefined) return false
  if (found.code === UNKNOWN) return false
  return found.code !== INVALID_ARGUMENT || /search attribute/i.test(found.text)
}

/** The status of the service's answer, through the wrappers of the client. */
function grpcStatus(error: unknown): { readonly code: number; readonly text: string } | undefined {
  for (let at = error, depth = 0; at instanceof Error && depth < 5; at = at.cause, depth++)
    if ('code' in at && typeof at.code === 'number') return { code: at.code, text: at.message }
  return undefined
}
