// Brings a wake to the run of its subject: one that is open is signalled, else one is started.
//
//   B1. The row of a job is opened before its run can write anything, so that its writes are known as its own.
//   B2. What is told of a run holds only while the wake's lease does: who took the wake after that may have seen the end of the job.

import type { Client } from '@temporalio/client'
import type { Kysely } from 'kysely'
import type { Database } from '../../activities/journal/database.ts'
import { grouped } from '../../activities/journal/write/grouped.ts'
import {
  announceJobs,
  findOpenJobs,
  isRecorded,
  type JobSubject,
  type NewJob,
  openJobs,
  servedBy,
} from '../../activities/journal/write/jobs.ts'
import { type ObjectID, readSubjects } from '../../activities/journal/read/objects.ts'
import { recordLostJob } from '../../activities/journal/write/sweep.ts'
import { upsertWakes, type Wake } from '../../activities/journal/write/wakes.ts'
import type { Involved } from '../../activities/kube/events.ts'
import { type ErrorReport, isLaneServed } from '../../workflows/kit/index.ts'
import { builtIn, type Registry } from '../server/registry.ts'
import type { Logger } from '../server/log.ts'
import type { AtWork } from '../../activities/run/at-work.ts'
import type { FreshRuns } from './fresh-runs.ts'
import { servesOf } from './lanes.ts'
import { followedBy, type Resolution, resolveStart, resolveWake } from './resolve.ts'
import { type Run, type RunOptions, signalRun, type StartAnswer, startRun } from './runs.ts'

export interface BringerOptions extends RunOptions {
  readonly cluster: string
  /** How many wakes are on their way to Temporal at once. */
  readonly slots: number
}

export interface BringerDeps {
  readonly db: Kysely<Database>
  /** Commits without waiting for the disk: a wake that is claimed or acknowledged in vain comes again. */
  readonly lax: Kysely<Database>
  readonly client: Client
  readonly log: Logger
  readonly now: () => Date
  readonly atWork: AtWork
  /** Tells of a job ID that is none on its object. Default: nobody is told. */
  readonly warn?: (object: Involved, job: string, error: ErrorReport) => Promise<void>
  /** Default: Pawl's own controllers. */
  readonly registry?: Registry
}

// How long a wake waits whose owner is not known yet: the first list of a kind takes seconds.
const LATER_MS = 1000

/** What the wakes in hand ask of the journal, in one statement or transaction for all that ask at the same time. */
function journalOf({ db, lax, registry = builtIn }: BringerDeps, { cluster, slots }: BringerOptions) {
  return {
    registry,
    findOpen: grouped(slots, async (subjects: readonly JobSubject[]) => await findOpenJobs(db, subjects)),
    readSubject: grouped(slots, async (ids: readonly ObjectID[]) => await readSubjects(db, ids, followedBy(registry))),
    announced: grouped(slots, async (jobs: readonly NewJob[]) => await announceJobs(lax, { subjects: registry }, jobs)),
    opened: grouped(slots, async (jobs: readonly NewJob[]) => {
      await openJobs(lax, { cluster, subjects: registry }, jobs)
      return []
    }),
  }
}

type Answered = StartAnswer & { readonly begun: Promise<void> }
type Started = Extract<Answered, { readonly answer: 'started' }>

export interface Brought {
  readonly led: string
  /** The wake started a run; resolves when that has begun. */
  readonly begun?: Promise<void>
  /** The wake woke a run whose controller bounds its passes; resolves when that is at work. */
  readonly stirred?: Promise<void>
  /** When the wake is to be looked at again; undefined: it is done with. */
  readonly again?: Date
}

const SIGNALLED: Brought = { led: 'signalled' }

export class Bringer {
  readonly #deps: BringerDeps
  readonly #journal: ReturnType<typeof journalOf>
  readonly #options: BringerOptions
  readonly #fresh: FreshRuns

  constructor(deps: BringerDeps, options: BringerOptions, fresh: FreshRuns) {
    this.#deps = deps
    this.#options = options
    this.#journal = journalOf(deps, options)
    this.#fresh = fresh
  }

  /** @throws when the journal or Temporal is away: the wake is to be brought again. */
  async bring(wake: Wake): Promise<Brought> {
    const { db, client, now, log, atWork } = this.#deps
    const resolution = await resolveWake(wake, this.#journal)
    const { refused } = resolution
    if (refused !== undefined) await this.#deps.warn?.(refused.object, refused.text, refused.error)
    if (resolution.to !== 'open') return await this.#follow(wake, resolution)
    const { workflow_id } = resolution.job
    const met = atWork.meets(wake, resolution.job)
    if (met === 'seen') return { led: 'its run has seen it' }
    if (met !== 'signal') return { led: 'its run is at work', again: met }
    const stirred = this.#isBounded(wake) ? this.#fresh.expect(workflow_id) : undefined
    if (await signalRun(client, workflow_id, wake.seq)) return { ...SIGNALLED, ...(stirred && { stirred }) }
    if (stirred !== undefined) this.#fresh.forget(workflow_id)
    log.info({ workflowID: workflow_id }, 'run is not in Temporal any more')
    // With a wake of its own, in one transaction: this one may not start a run, and whoever stops here leaves nothing half done.
    await recordLostJob(db, resolution.job, now())
    return { led: 'run is not in Temporal any more: its subject is woken' }
  }

  /** Then a wake takes room until its run asks for its turn (pass-room.ts). */
  #isBounded({ controller }: Wake): boolean {
    const known = (this.#deps.registry ?? builtIn).controllers.get(controller)
    return known?.mode === 'level' && known.settings?.passes !== undefined
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

/** In level mode every run of an object has the same ID. */
function isLevel({ input }: Run): boolean {
  return input.jobID === ''
}

/** A write never wakes the run that made it; here the run's row was not written yet. */
function isOwn(wake: Wake, { workflowID }: Run): boolean {
  return !wake.foreign_event && wake.writer === workflowID
}
