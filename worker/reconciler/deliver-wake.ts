// Brings a wake to the run of its subject: one that is open is signalled, else one is started.
//
//   B1. The row of a job is opened before its run can write anything, so that its writes are known as its own.
//   B2. What is told of a run holds only while the wake's lease does: who took the wake after that may have seen the end of the job.
//   B3. A run may end at any moment, so also between a look at its row, or an answer of Temporal, and the signal. Then its wake is looked at anew.
//   B4. A row without a run in Temporal is that of a start that is under way, or has failed, before it is that of a run that is lost.

import type { Client } from '@temporalio/client'
import type { Kysely } from 'kysely'

import type { Database } from '../../activities/journal/database.ts'
import { type ObjectID, readSubjects } from '../../activities/journal/read/subjects.ts'
import { createGroupCommit } from '../../activities/journal/write/group-commit.ts'
import {
  announceJobs,
  findOpenJobs,
  hasJobRow,
  type Job,
  type JobSubject,
  type NewJob,
  openJobs,
  handledPartitionsOf,
} from '../../activities/journal/write/jobs.ts'
import { recordLostJob } from '../../activities/journal/write/resync.ts'
import { upsertWakes, type Wake } from '../../activities/journal/write/wakes.ts'
import type { Involved } from '../../activities/kube/events.ts'
import type { InFlightRuns } from '../../activities/run/in-flight-runs.ts'
import type { FreshRuns } from './capacity.ts'
import { type LaneShare, servesOf } from './task-queues.ts'
import { followedBy, resolveStart, resolveWake, type Unopened } from './resolve-wake.ts'
import { type Run, type RunOptions, signalRun, type StartAnswer, startRun } from './runs.ts'
import type { Logger } from '../server/log.ts'
import { builtIn, type Registry } from '../server/registry.ts'
import { type ErrorReport, isPartitionHandled } from '../../workflows/kit/index.ts'

export interface BringerOptions extends RunOptions {
  readonly cluster: string
  /** How many wakes are on their way to Temporal at once. */
  readonly slots: number
  /** How long a wake is this process's. */
  readonly leaseMs: number
}

export interface BringerDeps {
  readonly db: Kysely<Database>
  /** Commits without waiting for the disk: a wake that is claimed or acknowledged in vain comes again. */
  readonly lax: Kysely<Database>
  readonly client: Client
  readonly log: Logger
  readonly now: () => Date
  readonly inFlightRuns: InFlightRuns
  /** Tells of a job ID that is none on its object. Default: nobody is told. */
  readonly warn?: (object: Involved, job: string, error: ErrorReport) => Promise<void>
  /** Tells of a run that was started and has not begun for a while, by when its wake was due. Default: nobody is told. */
  readonly late?: (run: Run, due: Date) => Promise<void>
  /** Default: Pawl's own controllers. */
  readonly registry?: Registry
}

// How long a wake waits whose owner is not known yet: the first list of a kind takes seconds.
const LATER_MS = 1000
const OVERTAKEN = 'job never began, and its subject asks for another'
// After runs of the subject have ended under both looks.
const SOON_MS = 200

/** What the wakes in hand ask of the journal, in one statement or transaction for all that ask at the same time. */
function journalOf({ db, lax, now, registry = builtIn }: BringerDeps, { cluster, slots }: BringerOptions) {
  return {
    registry,
    now,
    findOpen: createGroupCommit(slots, async (subjects: readonly JobSubject[]) => await findOpenJobs(db, subjects)),
    readSubject: createGroupCommit(
      slots,
      async (ids: readonly ObjectID[]) => await readSubjects(db, ids, followedBy(registry)),
    ),
    announced: createGroupCommit(
      slots,
      async (jobs: readonly NewJob[]) => await announceJobs(lax, { subjects: registry }, jobs),
    ),
    opened: createGroupCommit(slots, async (jobs: readonly NewJob[]) => {
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
  /** The wake woke a run; resolves when that is at work. */
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
    const brought = (await this.#look(wake)) ?? (await this.#look(wake))
    return brought ?? { led: 'its runs end while they are signalled', again: this.#in(SOON_MS) }
  }

  /** @returns undefined: a run has ended meanwhile (B3). */
  async #look(wake: Wake): Promise<Brought | undefined> {
    const { client, inFlightRuns } = this.#deps
    const resolution = await resolveWake(wake, this.#journal)
    const { warning } = resolution
    if (warning !== undefined) await this.#deps.warn?.(warning.object, warning.about, warning.error)
    if (resolution.to !== 'open') return await this.#follow(wake, resolution)
    const { job } = resolution
    const met = inFlightRuns.routeWake(wake, job)
    if (met === 'seen') return { led: 'its run has seen it' }
    if (met !== 'signal') return { led: 'its run is at work', again: met }
    const stirred = this.#fresh.expect(job.workflow_id, { passes: job.passes })
    if (await signalRun(client, job.workflow_id, wake.seq)) return { ...SIGNALLED, stirred }
    this.#fresh.forget(job.workflow_id)
    return isAnnounced(job) ? await this.#startAnnounced(wake, job) : await this.#lose(job)
  }

  /** B4. A start that has failed is made again; one that is under way is waited for. */
  async #startAnnounced(wake: Wake, job: Job): Promise<Brought | undefined> {
    const wanted = wake.may_start && isOf(wake, job) ? await resolveStart(wake, this.#journal) : undefined
    const next = wanted?.to === 'start' ? wanted.run : undefined
    // Nobody is lost by that: where the start has come through after all, Temporal says so.
    if (next?.workflowID === job.workflow_id) return await this.#start(wake, next)
    const isUnderWay = this.#deps.now().getTime() < job.started_at.getTime() + this.#options.leaseMs
    return isUnderWay ? { led: 'its run is being started', again: this.#in(LATER_MS) } : await this.#lose(job, next)
  }

  /**
   * @param next what its subject asks for instead of a job that never began: nobody has lost that.
   * @returns undefined: the run has closed its row and ended.
   */
  async #lose(job: Job, next?: Run): Promise<Brought | undefined> {
    const { db, log, now } = this.#deps
    // With a wake of its own, in one transaction: this one may not start a run, and whoever stops here leaves nothing half done.
    const how = next === undefined ? {} : ({ cause: OVERTAKEN, outcome: 'Superseded' } as const)
    if ((await recordLostJob(db, job, now(), how)) === 'over') return undefined
    if (next !== undefined) return { led: `${OVERTAKEN}: its subject is woken` }
    log.info({ workflowID: job.workflow_id }, 'run is not in Temporal any more')
    return { led: 'run is not in Temporal any more: its subject is woken' }
  }

  #in(ms: number): Date {
    return new Date(this.#deps.now().getTime() + ms)
  }

  async #follow(wake: Wake, resolution: Unopened): Promise<Brought | undefined> {
    const { db, client } = this.#deps
    switch (resolution.to) {
      case 'start':
        return await this.#start(wake, resolution.run)
      case 'later':
        return { led: resolution.reason, again: resolution.at ?? this.#in(LATER_MS) }
      case 'nothing':
        if (resolution.unrecorded !== undefined && !(await hasJobRow(db, resolution.unrecorded)))
          await signalRun(client, resolution.unrecorded, wake.seq)
        return { led: resolution.reason }
    }
  }

  async #start(wake: Wake, wanted: Run): Promise<Brought | undefined> {
    if (!this.#isOurs(wanted)) return await this.#wakeHost(wake, wanted)
    return await this.#startOurs(wake, serving(wanted, this.#options.shares))
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

  async #startOurs(wake: Wake, run: Run): Promise<Brought | undefined> {
    const { inFlightRuns } = this.#deps
    inFlightRuns.runStarted(run.workflowID)
    // Before the run writes anything: by its row its writes are known as its own. A start that fails leaves a row that the next try finds.
    // The row of one that has ended is left as it is until it is known whether it is to be started again.
    const isOpen = !isLevel(run) && (await this.#journal.announced(this.#rowOf(run, null)))
    const first = await this.#startRun(wake, run, isLevel(run))
    // After a lease it may have been closed (B2).
    if (first.answer === 'started' && isOpen && this.#isLeased(wake)) return { led: 'started', begun: first.begun }
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
  async #startAgain(wake: Wake): Promise<Brought | undefined> {
    const wanted = await resolveStart(wake, this.#journal)
    if (wanted.to === 'nothing') return { led: 'stale: the job is finished' }
    if (wanted.to !== 'start') return await this.#follow(wake, wanted)
    const next = await goingOn(this.#deps.db, wanted.run, this.#options.shares)
    if (!isLevel(next)) await this.#opened(wake, next, null)
    const second = await this.#startRun(wake, next, true)
    return second.answer === 'started' ? await this.#started(wake, next, second) : await this.#signal(wake, next)
  }

  async #startRun({ due }: Wake, run: Run, again: boolean): Promise<Answered> {
    const begun = this.#fresh.expect(run.workflowID, { late: () => void this.#deps.late?.(run, due) })
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
   * has ended the next one is started at once. Undefined: another has done that.
   */
  async #wakeLevel(wake: Wake, run: Run): Promise<Brought | undefined> {
    if (isOwn(wake, run)) return { led: 'own write' }
    const { client } = this.#deps
    await this.#opened(wake, run, null)
    if (await signalRun(client, run.workflowID, wake.seq)) return SIGNALLED
    const next = await this.#startRun(wake, run, true)
    return next.answer === 'started' ? await this.#started(wake, run, next) : undefined
  }

  async #signal(wake: Wake, run: Run): Promise<Brought | undefined> {
    const isThere = await signalRun(this.#deps.client, run.workflowID, wake.seq)
    return isThere ? await this.#opened(wake, run, null) : undefined
  }

  /** @throws when the lease ran out meanwhile: this process was stopped, and who took the wake may have seen the end of the job since. */
  async #opened(wake: Wake, run: Run, runID: string | null): Promise<Brought> {
    if (!this.#isLeased(wake)) throw new Error(`the lease of the wake ran out while run ${run.workflowID} was started`)
    await this.#journal.opened(this.#rowOf(run, runID))
    return SIGNALLED
  }

  #isLeased({ lease_until }: Wake): boolean {
    return lease_until === null || lease_until > this.#deps.now()
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

/** Nobody has heard yet that its run was started. In level mode a row is opened for a run that is there. */
function isAnnounced({ job_id, run_id }: Job): boolean {
  return job_id !== '' && run_id === null
}

function isOf(wake: Wake, { controller, uid }: Job): boolean {
  return wake.controller === controller && wake.uid === uid
}

/** A write never wakes the run that made it; here the run's row was not written yet. */
function isOwn(wake: Wake, { workflowID }: Run): boolean {
  return !wake.foreign_event && wake.writer === workflowID
}

// What a run that this process starts serves. Source: docs/adr/0027.

/** The run, serving what this process does. */
export function serving(run: Run, shares: readonly LaneShare[] = []): Run {
  const serves = servesOf(shares, run.controller)
  return serves === undefined ? run : { ...run, input: { ...run.input, serves } }
}

/** A job that is begun again serves what it did, as far as this process can: what it left to others may be at work there. */
export async function goingOn(db: Kysely<Database>, run: Run, shares?: readonly LaneShare[]): Promise<Run> {
  const ours = serving(run, shares)
  const serves = (await handledPartitionsOf(db, run.workflowID)) ?? undefined
  const canGoOn = serves?.every((lane) => isPartitionHandled(ours.input.serves, lane)) === true
  return canGoOn ? { ...ours, input: { ...ours.input, serves } } : ours
}
