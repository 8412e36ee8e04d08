// Takes due wakes out of the journal and brings them to Temporal. All dispatchers are active; no leader.
// Source: docs/architecture.md "How data flows", "Journal" (wake).
//
//   P1. Claim, call Temporal, acknowledge: no lock is held over a call. A dispatcher that dies leaves a lease that runs out.
//   P2. A wake is acknowledged only after a run was woken or started for it, or it is known to lead to nothing, or its run has seen it.
//   P3. Temporal or PostgreSQL being away loses nothing: the wake stays, the next try is delayed.

import type { Client } from '@temporalio/client'
import type { Kysely } from 'kysely'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Database } from '../../activities/journal/database.ts'
import { grouped } from '../../activities/journal/write/grouped.ts'
import {
  announceJobs,
  begunJobs,
  findOpenJobs,
  isRecorded,
  type JobSubject,
  type NewJob,
  openJobs,
  servedBy,
} from '../../activities/journal/write/jobs.ts'
import { type ObjectID, readSubjects } from '../../activities/journal/read/objects.ts'
import { recordLostJob } from '../../activities/journal/write/sweep.ts'
import {
  acknowledgeWakes,
  claimWakes,
  nextWakeDue,
  type Postponed,
  postponeWakes,
  upsertWakes,
  type Wake,
} from '../../activities/journal/write/wakes.ts'
import { isLaneServed } from '../../workflows/kit/index.ts'
import type { AtWork } from '../../activities/run/at-work.ts'
import { delayAfter } from '../server/backoff.ts'
import { builtIn, type Registry } from '../server/registry.ts'
import type { Logger } from '../server/log.ts'
import { leftLanes, servesOf } from './lanes.ts'
import { followedBy, type Resolution, resolveStart, resolveWake } from './resolve.ts'
import { FreshRuns } from './fresh-runs.ts'
import { type Run, type RunOptions, signalRun, type StartAnswer, startRun } from './runs.ts'

export interface DispatcherOptions extends RunOptions {
  readonly owner: string
  readonly cluster: string
  /** How many wakes are on their way to Temporal at once. */
  readonly slots: number
  readonly leaseMs: number
  /** Longest time between two looks at the journal when no notification comes. */
  readonly idleMs: number
}

export interface DispatcherDeps {
  readonly db: Kysely<Database>
  /** Commits without waiting for the disk: a wake that is claimed or acknowledged in vain comes again. */
  readonly lax: Kysely<Database>
  readonly client: Client
  readonly log: Logger
  readonly now: () => Date
  readonly atWork: AtWork
  /** Default: Pawl's own controllers. */
  readonly registry?: Registry
  /** Called with the outcome of every contact with the journal and Temporal, for /readyz. */
  readonly report: (part: 'journal' | 'temporal', error: unknown) => void
}

// How long a wake waits whose owner is not known yet: the first list of a kind takes seconds.
const LATER_MS = 1000
// A wake that cannot be dispatched (Temporal refuses it) is tried again ever more rarely.
const DISPATCH_DELAYS = { first: 400, longest: 30_000 }
const MOST_FAILING = 10_000
const CONTENDED_MS = 20
const JOURNAL_DELAYS = { first: 200, longest: 10_000 }

/** What the wakes in hand ask of the journal, in one statement or transaction for all that ask at the same time. */
function journalOf({ db, lax, registry = builtIn }: DispatcherDeps, { cluster, slots }: DispatcherOptions) {
  return {
    registry,
    findOpen: grouped(slots, async (subjects: readonly JobSubject[]) => await findOpenJobs(db, subjects)),
    readSubject: grouped(slots, async (ids: readonly ObjectID[]) => await readSubjects(db, ids, followedBy(registry))),
    announced: grouped(slots, async (jobs: readonly NewJob[]) => await announceJobs(lax, { subjects: registry }, jobs)),
    opened: grouped(slots, async (jobs: readonly NewJob[]) => {
      await openJobs(lax, { cluster, subjects: registry }, jobs)
      return []
    }),
    acknowledge: grouped(slots, async (wakes: readonly Wake[]) => await acknowledgeWakes(lax, wakes)),
    postpone: grouped(slots, async (postponed: readonly Postponed[]) => {
      await postponeWakes(db, postponed)
      return []
    }),
  }
}

type Answered = StartAnswer & { readonly begun: Promise<void> }
type Started = Extract<Answered, { readonly answer: 'started' }>

interface Brought {
  readonly led: string
  /** The wake started a run; resolves when that has begun. */
  readonly begun?: Promise<void>
  /** When the wake is to be looked at again; undefined: it is done with. */
  readonly again?: Date
}

const SIGNALLED: Brought = { led: 'signalled' }

export class Dispatcher {
  readonly #deps: DispatcherDeps
  readonly #journal: ReturnType<typeof journalOf>
  readonly #options: DispatcherOptions
  readonly #fresh: FreshRuns
  readonly #inFlight = new Set<Promise<void>>()
  #nudge: () => void = () => undefined
  #stopped = false
  #failures = 0
  readonly #failedTimes = new Map<string, number>()

  constructor(deps: DispatcherDeps, options: DispatcherOptions) {
    this.#deps = deps
    this.#options = options
    this.#journal = journalOf(deps, options)
    const begun = async (workflowIDs: readonly string[]) => await begunJobs(deps.db, workflowIDs)
    this.#fresh = new FreshRuns({ atWork: deps.atWork, begun })
  }

  /** Something may be due: look now. */
  nudge(): void {
    this.#nudge()
  }

  /** Runs until `stop`; then waits for what is on its way. */
  async run(): Promise<void> {
    while (!this.#stopped) {
      const nudged = new Promise<void>((resolve) => {
        this.#nudge = resolve
      })
      const waitMs = await this.#take()
      if (waitMs > 0)
        await Promise.race([
          nudged,
          sleep(waitMs),
          ...(this.#inFlight.size >= this.#options.slots ? this.#inFlight : []),
        ])
    }
    await Promise.all(this.#inFlight)
  }

  stop(): void {
    this.#stopped = true
    this.#nudge()
  }

  /** Claims what is due, as far as there are slots; returns how long to wait for more. */
  async #take(): Promise<number> {
    const { lax, now, report, log, registry = builtIn } = this.#deps
    const { owner, cluster, slots, leaseMs, idleMs, shares = [] } = this.#options
    const left = leftLanes(shares)
    // What this process does not know is somebody else's, or will be when the next worker starts.
    const controllers = this.#options.controllers ?? [...registry.controllers.keys()]
    const limit = slots - this.#inFlight.size
    if (limit <= 0) return idleMs
    const { free } = this.#fresh
    const claim = {
      cluster,
      controllers,
      left,
      owner,
      limit,
      starts: free,
      turns: this.#fresh.turns(),
      leaseMs,
      now: now(),
    }
    try {
      const wakes = await claimWakes(lax, claim)
      report('journal', undefined)
      this.#failures = 0
      for (const wake of wakes) this.#launch(wake)
      const begins = wakes.filter((wake) => wake.may_start).length
      if (wakes.length - begins >= limit || (free > 0 && begins >= free)) return 0
      const due = await nextWakeDue(lax, { cluster, controllers, left, starts: free })
      const dueMs = due === undefined ? idleMs : due.getTime() - now().getTime()
      // What is due and could not be claimed, another process is claiming.
      return dueMs <= 0 ? CONTENDED_MS : Math.min(idleMs, dueMs)
    } catch (error) {
      report('journal', error)
      log.warn({ err: error }, 'journal cannot be read; trying again')
      return delayAfter(this.#failures++, JOURNAL_DELAYS, Math.random())
    }
  }

  #launch(wake: Wake): void {
    const given = wake.may_start ? this.#fresh.take(wake.namespace) : undefined
    const work = this.#dispatch(wake).then((brought) => {
      this.#inFlight.delete(work)
      if (brought?.begun === undefined) this.#gaveBack(given)
      else void brought.begun.then(() => this.#gaveBack(given))
    })
    this.#inFlight.add(work)
  }

  #gaveBack(given: (() => void) | undefined): void {
    given?.()
    if (given !== undefined) this.nudge()
  }

  /** @returns undefined: it is tried again. Never throws. */
  async #dispatch(wake: Wake): Promise<Brought | undefined> {
    const { log, now, report } = this.#deps
    const subject = { controller: wake.controller, namespace: wake.namespace, name: wake.name, uid: wake.uid }
    try {
      const brought = await this.#bring(wake)
      const { led, again } = brought
      report('temporal', undefined)
      log.debug({ ...subject, cause: wake.cause, led }, 'wake dispatched')
      if (again !== undefined) await this.#journal.postpone({ wake, due: again })
      else await this.#journal.acknowledge(wake)
      this.#failedTimes.delete(keyOf(wake))
      return brought
    } catch (error) {
      report('temporal', error)
      log.warn({ ...subject, err: error }, 'wake cannot be dispatched; trying again')
      const due = new Date(now().getTime() + this.#nextDelayMs(wake))
      // When the journal is away too, the lease runs out instead.
      await this.#journal.postpone({ wake, due }).catch((away: unknown) => report('journal', away))
      return undefined
    }
  }

  async #bring(wake: Wake): Promise<Brought> {
    const { db, client, now, log, atWork } = this.#deps
    const resolution = await resolveWake(wake, this.#journal)
    if (resolution.to !== 'open') return await this.#follow(wake, resolution)
    const { workflow_id } = resolution.job
    const met = atWork.meets(wake, resolution.job)
    if (met === 'seen') return { led: 'its run has seen it' }
    if (met !== 'signal') return { led: 'its run is at work', again: met }
    if (await signalRun(client, workflow_id, wake.seq)) return SIGNALLED
    log.info({ workflowID: workflow_id }, 'run is not in Temporal any more')
    // With a wake of its own, in one transaction: this one may not start a run, and whoever stops here leaves nothing half done.
    await recordLostJob(db, resolution.job, now())
    return { led: 'run is not in Temporal any more: its subject is woken' }
  }

  async #follow(wake: Wake, resolution: Resolution): Promise<Brought> {
    const { db, client, now } = this.#deps
    switch (resolution.to) {
      case 'start':
        return await this.#start(wake, resolution.run)
      case 'open':
        if (await signalRun(client, resolution.job.workflow_id, wake.seq)) return SIGNALLED
        throw new Error(`run ${resolution.job.workflow_id} is not in Temporal any more`)
      case 'later':
        return { led: resolution.reason, again: new Date(now().getTime() + LATER_MS) }
      case 'nothing':
        if (resolution.unrecorded !== undefined && !(await isRecorded(db, resolution.unrecorded)))
          await signalRun(client, resolution.unrecorded, wake.seq)
        return { led: resolution.reason }
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

  async #start(wake: Wake, wanted: Run): Promise<Brought> {
    if (!this.#isOurs(wanted)) return await this.#wakeHost(wake, wanted)
    return await this.#startOurs(wake, this.#serving(wanted))
  }

  /** A host's run may be of a controller that this process leaves to others. */
  #isOurs({ controller }: Run): boolean {
    return this.#options.controllers?.includes(controller) !== false
  }

  /** Whoever runs the host starts its run, which serves then what that process does. */
  async #wakeHost({ seq, cause }: Wake, { controller, input: { subject } }: Run): Promise<Brought> {
    const { db, now } = this.#deps
    const { uid, namespace, name } = subject
    const host = {
      controller,
      uid,
      job_id: '',
      cluster: this.#options.cluster,
      namespace,
      name,
      seq,
      due: now(),
      cause,
    }
    await upsertWakes(db, [{ ...host, foreign_event: true, may_start: true, writer: null }], now())
    return { led: 'its host is woken' }
  }

  #serving(run: Run): Run {
    const serves = servesOf(this.#options.shares ?? [], run.controller)
    return serves === undefined ? run : { ...run, input: { ...run.input, serves } }
  }

  /** A job that is begun again serves what it did, as far as this process can: what it left to others may be at work there. */
  async #goingOn(run: Run): Promise<Run> {
    const ours = this.#serving(run)
    const serves = (await servedBy(this.#deps.db, run.workflowID)) ?? undefined
    const canGoOn = serves?.every((lane) => isLaneServed(ours.input.serves, lane)) === true
    return canGoOn ? { ...ours, input: { ...ours.input, serves } } : ours
  }

  async #startOurs(wake: Wake, run: Run): Promise<Brought> {
    const { atWork } = this.#deps
    atWork.starts(run.workflowID)
    // Before the run writes anything: by its row its writes are known as its own. A start that fails leaves a row that the next try finds.
    // The row of one that has ended is left as it is until it is known whether it is to be started again.
    const isOpen = !isLevel(run) && (await this.#journal.announced(this.#rowOf(run, null)))
    const first = await this.#startRun(run, isLevel(run))
    if (first.answer === 'started' && isOpen) return { led: 'started', begun: first.begun }
    if (first.answer === 'started') return await this.#started(wake, run, first)
    if (first.answer === 'running' && isLevel(run)) return await this.#wakeLevel(wake, run)
    if (first.answer === 'running')
      return isOwn(wake, run) ? await this.#opened(wake, run, null) : await this.#signal(wake, run)
    return await this.#startAgain(wake)
  }

  /**
   * A run of this ID has ended. If the journal, read again, still asks for the job, it was left unfinished: a crash, a termination, or a run
   * that was superseded.
   */
  async #startAgain(wake: Wake): Promise<Brought> {
    const wanted = await resolveStart(wake, this.#journal)
    if (wanted.to === 'nothing') return { led: 'stale: the job is finished' }
    if (wanted.to !== 'start') return await this.#follow(wake, wanted)
    const next = await this.#goingOn(wanted.run)
    if (!isLevel(next)) await this.#opened(wake, next, null)
    const second = await this.#startRun(next, true)
    return second.answer === 'started' ? await this.#started(wake, next, second) : await this.#signal(wake, next)
  }

  async #startRun(run: Run, again: boolean): Promise<Answered> {
    const begun = this.#fresh.expect(run.workflowID)
    try {
      const answer = await startRun(this.#deps.client, run, this.#options, again)
      if (answer.answer !== 'started') this.#fresh.forget(run.workflowID)
      return { ...answer, begun }
    } catch (error) {
      this.#fresh.forget(run.workflowID)
      throw error
    }
  }

  async #started(wake: Wake, run: Run, { runID, begun }: Started): Promise<Brought> {
    await this.#opened(wake, run, runID)
    return { led: 'started', begun }
  }

  /**
   * In level mode a run may end at any moment, and closes its row when it does: so the row is opened before the run is signalled, and when it
   * has ended the next one is started at once.
   */
  async #wakeLevel(wake: Wake, run: Run): Promise<Brought> {
    if (isOwn(wake, run)) return { led: 'own write' }
    const { client } = this.#deps
    await this.#opened(wake, run, null)
    if (await signalRun(client, run.workflowID, wake.seq)) return SIGNALLED
    const next = await this.#startRun(run, true)
    if (next.answer === 'started') return await this.#started(wake, run, next)
    throw new Error(`run ${run.workflowID} ended and was started by another while it was signalled`)
  }

  async #signal(wake: Wake, run: Run): Promise<Brought> {
    if (!(await signalRun(this.#deps.client, run.workflowID, wake.seq)))
      throw new Error(`run ${run.workflowID} ended while it was signalled`)
    return await this.#opened(wake, run, null)
  }

  /** @throws when the lease ran out meanwhile: this process was stopped, and who took the wake may have seen the end of the job since. */
  async #opened({ lease_until }: Wake, run: Run, runID: string | null): Promise<Brought> {
    if (lease_until !== null && lease_until <= this.#deps.now())
      throw new Error(`the lease of the wake ran out while run ${run.workflowID} was started`)
    await this.#journal.opened(this.#rowOf(run, runID))
    return SIGNALLED
  }

  #rowOf({ controller, workflowID, input: { subject, jobID, cause, serves } }: Run, runID: string | null): NewJob {
    return {
      workflow_id: workflowID,
      run_id: runID,
      controller,
      cluster: this.#options.cluster,
      uid: subject.uid,
      job_id: jobID,
      namespace: subject.namespace,
      name: subject.name,
      cause,
      started_at: this.#deps.now(),
      serves: serves ?? null,
    }
  }
}

function keyOf({ controller, uid }: Wake): string {
  return `${controller}/${uid}`
}

/** In level mode every run of an object has the same ID. */
function isLevel({ input }: Run): boolean {
  return input.jobID === ''
}

/** A write never wakes the run that made it; here the run's row was not written yet. */
function isOwn(wake: Wake, { workflowID }: Run): boolean {
  return !wake.foreign_event && wake.writer === workflowID
}
