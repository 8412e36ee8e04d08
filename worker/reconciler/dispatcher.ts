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
  findOpenJobs,
  isRecorded,
  type JobSubject,
  type NewJob,
  openJobs,
} from '../../activities/journal/write/jobs.ts'
import { type ObjectID, readSubjects } from '../../activities/journal/read/objects.ts'
import { recordLostJob } from '../../activities/journal/write/sweep.ts'
import {
  acknowledgeWakes,
  claimWakes,
  nextWakeDue,
  type Postponed,
  postponeWakes,
  type Wake,
} from '../../activities/journal/write/wakes.ts'
import type { AtWork } from '../../activities/run/at-work.ts'
import { delayAfter } from '../server/backoff.ts'
import { builtIn, type Registry } from '../server/registry.ts'
import type { Logger } from '../server/log.ts'
import { followedBy, type Resolution, resolveStart, resolveWake } from './resolve.ts'
import { type Run, type RunOptions, signalRun, startRun } from './runs.ts'

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
const JOURNAL_DELAYS = { first: 200, longest: 10_000 }

/** What the wakes in hand ask of the journal, in one statement or transaction for all that ask at the same time. */
function journalOf({ db, lax, registry = builtIn }: DispatcherDeps, { cluster, slots }: DispatcherOptions) {
  return {
    registry,
    findOpen: grouped(slots, async (subjects: readonly JobSubject[]) => await findOpenJobs(db, subjects)),
    readSubject: grouped(slots, async (ids: readonly ObjectID[]) => await readSubjects(db, ids, followedBy(registry))),
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

interface Brought {
  readonly led: string
  /** When the wake is to be looked at again; undefined: it is done with. */
  readonly again?: Date
}

const SIGNALLED: Brought = { led: 'signalled' }
const STARTED: Brought = { led: 'started' }

export class Dispatcher {
  readonly #deps: DispatcherDeps
  readonly #journal: ReturnType<typeof journalOf>
  readonly #options: DispatcherOptions
  readonly #inFlight = new Set<Promise<void>>()
  #nudge: () => void = () => undefined
  #stopped = false
  #failures = 0
  readonly #failedTimes = new Map<string, number>()

  constructor(deps: DispatcherDeps, options: DispatcherOptions) {
    this.#deps = deps
    this.#options = options
    this.#journal = journalOf(deps, options)
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
    const { owner, cluster, slots, leaseMs, idleMs } = this.#options
    // What this process does not know is somebody else's, or will be when the next worker starts.
    const controllers = this.#options.controllers ?? [...registry.controllers.keys()]
    const limit = slots - this.#inFlight.size
    if (limit <= 0) return idleMs
    try {
      const wakes = await claimWakes(lax, { cluster, controllers, owner, limit, leaseMs, now: now() })
      report('journal', undefined)
      this.#failures = 0
      for (const wake of wakes) this.#launch(wake)
      if (wakes.length === limit) return 0
      const due = await nextWakeDue(lax, { cluster, controllers })
      return due === undefined ? idleMs : Math.min(idleMs, Math.max(1, due.getTime() - now().getTime()))
    } catch (error) {
      report('journal', error)
      log.warn({ err: error }, 'journal cannot be read; trying again')
      return delayAfter(this.#failures++, JOURNAL_DELAYS, Math.random())
    }
  }

  #launch(wake: Wake): void {
    const work = this.#dispatch(wake).finally(() => this.#inFlight.delete(work))
    this.#inFlight.add(work)
  }

  async #dispatch(wake: Wake): Promise<void> {
    const { log, now, report } = this.#deps
    const subject = { controller: wake.controller, namespace: wake.namespace, name: wake.name, uid: wake.uid }
    try {
      const { led, again } = await this.#bring(wake)
      report('temporal', undefined)
      log.debug({ ...subject, cause: wake.cause, led }, 'wake dispatched')
      if (again !== undefined) await this.#journal.postpone({ wake, due: again })
      else await this.#journal.acknowledge(wake)
      this.#failedTimes.delete(keyOf(wake))
    } catch (error) {
      report('temporal', error)
      log.warn({ ...subject, err: error }, 'wake cannot be dispatched; trying again')
      const due = new Date(now().getTime() + this.#nextDelayMs(wake))
      // When the journal is away too, the lease runs out instead.
      await this.#journal.postpone({ wake, due }).catch((away: unknown) => report('journal', away))
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

  async #start(wake: Wake, run: Run): Promise<Brought> {
    const { client, atWork } = this.#deps
    atWork.starts(run.workflowID)
    // Before the run writes anything: by its row its writes are known as its own. A start that fails leaves a row that the next try finds.
    // The row of one that has ended is left as it is until it is known whether it is to be started again.
    if (!isLevel(run)) await this.#opened(wake, run, null, true)
    const first = await startRun(client, run, this.#options, isLevel(run))
    if (first.answer === 'started') return await this.#opened(wake, run, first.runID)
    if (first.answer === 'running' && isLevel(run)) return await this.#wakeLevel(wake, run)
    if (first.answer === 'running')
      return isOwn(wake, run) ? await this.#opened(wake, run, null) : await this.#signal(wake, run)
    // A run of this ID has ended. If the journal, read again, still asks for the job, it was left unfinished: a crash, a termination, or a run
    // that was superseded.
    const wanted = await resolveStart(wake, this.#journal)
    if (wanted.to === 'nothing') return { led: 'stale: the job is finished' }
    if (wanted.to !== 'start') return await this.#follow(wake, wanted)
    if (!isLevel(wanted.run)) await this.#opened(wake, wanted.run, null)
    const second = await startRun(client, wanted.run, this.#options, true)
    return second.answer === 'started'
      ? await this.#opened(wake, wanted.run, second.runID)
      : await this.#signal(wake, wanted.run)
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
    const next = await startRun(client, run, this.#options, true)
    if (next.answer === 'started') return await this.#opened(wake, run, next.runID)
    throw new Error(`run ${run.workflowID} ended and was started by another while it was signalled`)
  }

  async #signal(wake: Wake, run: Run): Promise<Brought> {
    if (!(await signalRun(this.#deps.client, run.workflowID, wake.seq)))
      throw new Error(`run ${run.workflowID} ended while it was signalled`)
    return await this.#opened(wake, run, null)
  }

  /** @throws when the lease ran out meanwhile: this process was stopped, and who took the wake may have seen the end of the job since. */
  async #opened(
    { lease_until }: Wake,
    { controller, workflowID, input: { subject, jobID, cause } }: Run,
    runID: string | null,
    unlessKnown = false,
  ): Promise<Brought> {
    const { now } = this.#deps
    if (lease_until !== null && lease_until <= now())
      throw new Error(`the lease of the wake ran out while run ${workflowID} was started`)
    await this.#journal.opened({
      workflow_id: workflowID,
      run_id: runID,
      controller,
      cluster: this.#options.cluster,
      uid: subject.uid,
      job_id: jobID,
      namespace: subject.namespace,
      name: subject.name,
      cause,
      started_at: now(),
      unlessKnown,
    })
    return runID === null ? SIGNALLED : STARTED
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
