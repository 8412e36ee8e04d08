// Takes due wakes out of the journal and brings them to Temporal. All dispatchers are active; no leader.
// Source: docs/architecture.md "How data flows", "Journal" (wake).
//
//   P1. Claim, call Temporal, acknowledge: no lock is held over a call. A dispatcher that dies leaves a lease that runs out.
//   P2. A wake is acknowledged only after a run was woken or started for it, or it is known to lead to nothing, or its run has seen it.
//   P3. Temporal or PostgreSQL being away loses nothing: the wake stays, the next try is delayed.
//   P4. Of a controller that bounds its passes only as many wakes are taken as there is room for; what it has beyond that delays no other.
//   P5. No controller waits behind the backlog of another for good: who has taken all that could be started comes after the others (claim-order.ts).
//   P6. A run that was woken is waited for before its wake's slot is another's: a task that waits too long for the worker that has its run in memory is replayed
//       by any (docs/adr/0059).

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
import { Bringer, type BringerDeps, type BringerOptions, type Brought } from './deliver-wake.ts'
import { ClaimOrder, FreshRuns, PassRoom, UNBOUNDED } from './capacity.ts'
import { leftLanes } from './task-queues.ts'
import { delayAfter, rest } from '../server/backoff.ts'
import { builtIn } from '../server/registry.ts'

export interface DispatcherOptions extends BringerOptions {
  readonly owner: string
  /** Longest time between two looks at the journal when no notification comes. */
  readonly idleMs: number
  /** How long a slot is kept for a run that was woken and has not looked (P6): it may be in another process, or its worker gone. */
  readonly takenUpMs: number
}

export interface DispatcherDeps extends BringerDeps {
  /** Called with the outcome of every contact with the journal and Temporal, for /readyz. */
  readonly report: (part: 'journal' | 'temporal', error: unknown) => void
}

// A wake that cannot be dispatched (Temporal refuses it) is tried again ever more rarely.
const DISPATCH_DELAYS = { first: 400, longest: 30_000 }
const MOST_FAILING = 10_000
const CONTENDED_MS = 20
// A wake of a controller that bounds its passes takes room no longer: its run may be in another process, and the turn that it takes is what counts.
const ON_THEIR_WAY_MS = 1000
const JOURNAL_DELAYS = { first: 200, longest: 10_000 }

/** What the wakes that are done with ask of the journal, in one statement for all at the same time. */
function journalOf({ db, lax }: DispatcherDeps, { slots }: DispatcherOptions) {
  return {
    acknowledge: createGroupCommit(slots, async (wakes: readonly Wake[]) => await acknowledgeWakes(lax, wakes)),
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
  readonly #fresh: FreshRuns
  readonly #room: PassRoom
  readonly #order = new ClaimOrder()
  readonly #bringer: Bringer
  readonly #inFlight = new Set<Promise<void>>()
  /** P6. Wakes whose runs are waited for. */
  #wakened = 0
  #nudge: () => void = () => undefined
  #stopped = false
  #wasFull = false
  #failures = 0
  readonly #failedTimes = new Map<string, number>()

  constructor(deps: DispatcherDeps, options: DispatcherOptions) {
    this.#deps = deps
    this.#options = options
    this.#journal = journalOf(deps, options)
    const begun = async (runs: ReadonlyMap<string, number>) => await jobsWithNewPass(deps.db, runs)
    this.#fresh = new FreshRuns({ inFlightRuns: deps.inFlightRuns, begun })
    this.#room = new PassRoom(deps.registry ?? builtIn)
    this.#bringer = new Bringer(deps, options, this.#fresh)
  }

  /** Something may be due: look now. */
  nudge(): void {
    this.#nudge()
  }

  /** Whether something may have had to be left for want of room since this was asked last. */
  wasFull(): boolean {
    const was = this.#wasFull
    this.#wasFull = false
    return was
  }

  /** Runs until `stop`; then waits for what is on its way. */
  async run(): Promise<void> {
    while (!this.#stopped) {
      const nudged = new Promise<void>((resolve) => {
        this.#nudge = resolve
      })
      const waitMs = await this.#take()
      if (waitMs > 0) await rest(waitMs, [nudged, ...(this.#slotsLeft() <= 0 ? this.#inFlight : [])])
    }
    await Promise.all(this.#inFlight)
  }

  stop(): void {
    this.#stopped = true
    this.#nudge()
  }

  /** Claims what is due, as far as there are slots; returns how long to wait for more. */
  async #take(): Promise<number> {
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
    const { lax, now, registry = builtIn } = this.#deps
    const { cluster, idleMs, shares = [] } = this.#options
    // What this process does not know is somebody else's, or will be when the next worker starts.
    const all = this.#options.controllers ?? [...registry.controllers.keys()]
    const room = await this.#room.left(lax, { cluster, controllers: all }, now())
    const unbounded = all.filter((name) => !room.has(name))
    const waiting: string[] = []
    // What is given back during this round is for the next one: those who come first have been asked already.
    const { free } = this.#fresh
    for (const claimant of this.#order.of(room.keys())) {
      const most = room.get(claimant)
      const names = claimant === UNBOUNDED ? unbounded : [claimant]
      const left = await this.#claimFor({ claimant, controllers: names, free }, most)
      if (left === 'nothing') return 0
      if (left === 'more') waiting.push(...names)
    }
    const waited = { cluster, controllers: waiting, left: leftLanes(shares) }
    const due = await nextWakeDue(lax, { ...waited, starts: this.#fresh.free })
    const dueMs = due === undefined ? idleMs : due.getTime() - now().getTime()
    // What is due and could not be claimed, another process is claiming.
    return dueMs <= 0 ? CONTENDED_MS : Math.min(idleMs, dueMs)
  }

  /**
   * P4, P5. @param most how many there is room for, where passes are bounded.
   * @returns what this leaves: nothing for anybody, or no room for more of this claimant, or more.
   */
  async #claimFor(
    round: { readonly claimant: string; readonly controllers: readonly string[]; readonly free: number },
    most = Number.POSITIVE_INFINITY,
  ): Promise<'nothing' | 'no room' | 'more'> {
    const { claimant, controllers } = round
    const slots = this.#slotsLeft()
    const free = Math.min(round.free, this.#fresh.free)
    if (slots <= 0) return 'nothing'
    if (most <= 0 || controllers.length === 0) return 'no room'
    const bounds = { limit: Math.min(most, slots), starts: Math.min(most, free) }
    const isBounded = Number.isFinite(most)
    const { begins, others } = await this.#claim(controllers, { ...bounds, ...(isBounded && { most }) })
    const hadAll = others >= slots || (free > 0 && begins >= free)
    // Where nothing could be started, it has not had its turn.
    if (hadAll && free > 0) this.#order.hadAll(claimant)
    if (hadAll) return 'nothing'
    return begins + others < most ? 'more' : 'no room'
  }

  /** @returns how many wakes were claimed that may start a run, and how many others. */
  async #claim(
    controllers: readonly string[],
    bounds: Pick<Claim, 'limit' | 'starts' | 'most'>,
  ): Promise<{ readonly begins: number; readonly others: number }> {
    const { lax, now } = this.#deps
    const { owner, cluster, leaseMs, shares = [] } = this.#options
    const turns = this.#fresh.turns()
    const claim = { cluster, controllers, left: leftLanes(shares), owner, turns, leaseMs, now: now(), ...bounds }
    const wakes = await claimWakes(lax, claim)
    for (const wake of wakes) this.#launch(wake)
    const begins = wakes.filter((wake) => wake.may_start).length
    return { begins, others: wakes.length - begins }
  }

  #isFull(): boolean {
    return this.#slotsLeft() <= 0 || this.#fresh.free <= 0
  }

  #slotsLeft(): number {
    return this.#options.slots - this.#inFlight.size - this.#wakened
  }

  #launch(wake: Wake): void {
    const given = wake.may_start ? this.#fresh.take(wake.namespace) : undefined
    const room = this.#room.take(wake)
    const work = this.#dispatch(wake).then((brought) => {
      this.#inFlight.delete(work)
      this.#giveBack(given, brought?.begun)
      const turn = brought?.begun ?? brought?.stirred
      this.#giveBack(room, turn && rest(ON_THEIR_WAY_MS, [turn], false))
      if (brought?.stirred !== undefined) this.#keepSlot(brought.stirred)
    })
    this.#inFlight.add(work)
  }

  /** P6 */
  #keepSlot(stirred: Promise<void>): void {
    this.#wakened++
    void rest(this.#options.takenUpMs, [stirred], false).then(() => {
      const wasFull = this.#slotsLeft() <= 0
      this.#wakened--
      // A look costs a statement.
      if (wasFull) this.nudge()
    })
  }

  /** At once, or when that is over. */
  #giveBack(given: (() => void) | undefined, after: Promise<void> | undefined): void {
    if (given === undefined) return
    void (after ?? Promise.resolve()).then(() => {
      given()
      this.nudge()
    })
  }

  /** @returns undefined: it is tried again. Never throws. */
  async #dispatch(wake: Wake): Promise<Brought | undefined> {
    const { log, now, report } = this.#deps
    const subject = { controller: wake.controller, namespace: wake.namespace, name: wake.name, uid: wake.uid }
    try {
      const brought = await this.#bringer.bring(wake)
      const { led, again } = brought
      report('temporal', undefined)
      log.debug({ ...subject, cause: wake.cause, led }, 'wake dispatched')
      if (again !== undefined) await this.#journal.postpone({ wake, due: again })
      else await this.#journal.acknowledge(wake)
      this.#failedTimes.delete(keyOf(wake))
      return brought
    } catch (error) {
      if (isOfTemporal(error)) report('temporal', error)
      log.warn({ ...subject, err: error }, 'wake cannot be dispatched; trying again')
      const due = new Date(now().getTime() + this.#nextDelayMs(wake))
      // When the journal is away too, the lease runs out instead.
      await this.#journal.postpone({ wake, due }).catch((away: unknown) => report('journal', away))
      return undefined
    }
  }

  #nextDelayMs(wake: Wake): number {
    const key = keyOf(wake)
    const failed = this.#failedTimes.get(key) ?? 0
    // Other workers may have got over what failed here; their wakes are forgotten with the rest now and then.
    if (this.#failedTimes.size >= MOST_FAILING) this.#failedTimes.clear()
    this.#failedTimes.set(key, failed + 1)
    return delayAfter(failed, DISPATCH_DELAYS, Math.random())
  }
}

function keyOf({ controller, uid }: Wake): string {
  return `${controller}/${uid}`
}

// Whose failure it is when a wake cannot be dispatched: that of a server, which all wakes share and /readyz tells, or of the one wake. A subject that
// no run can be started for must not make a worker look ill: others would be taken out of service with it.

const INVALID_ARGUMENT = 3
const UNKNOWN = 2

/** Whether Temporal is what failed, for whichever wake comes next. Missing search attributes are: no run can be started then. */
export function isOfTemporal(error: unknown): boolean {
  const found = grpcStatus(error)
  if (found === undefined) return false
  if (found.code === UNKNOWN) return false
  return found.code !== INVALID_ARGUMENT || /search attribute/i.test(found.text)
}

/** Of the service's answer, however deep the client has wrapped it. */
function grpcStatus(error: unknown): { readonly code: number; readonly text: string } | undefined {
  for (let at = error, depth = 0; at instanceof Error && depth < 5; at = at.cause, depth++)
    if ('code' in at && typeof at.code === 'number') return { code: at.code, text: at.message }
  return undefined
}
