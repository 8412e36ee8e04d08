// Delivers a wake to the run of its subject: signals the open run, or starts one.
//
//   B1. The row of a job is opened before its run can write anything, so that the journal recognizes the run's writes as its own.
//   B2. Facts about a run are valid only while this process holds the wake's lease. After the lease expires, another dispatcher may take the wake and
//       see the job finished.
//   B3. A run may end at any moment, also after its row was read or Temporal answered. If the signal finds no open run, the wake is resolved again.
//   B4. A row whose run is not in Temporal counts as a pending or failed start first; only after a lease it counts as a lost run.

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
import type { RunMetrics } from '../../activities/run/run-metrics.ts'
import type { PendingRuns } from './capacity.ts'
import { type PartitionShare, handledTypesOf } from './task-queues.ts'
import { watchedKindKeys, resolveStart, resolveWake, type ResolvedWithoutOpenRun } from './resolve-wake.ts'
import { type Run, type RunOptions, signalRun, type StartAnswer, startRun } from './runs.ts'
import type { Logger } from '../server/log.ts'
import { builtInRegistry, type Registry } from '../server/registry.ts'
import { type ErrorReport, isPartitionHandled } from '../../workflows/kit/index.ts'

export interface DeliveryOptions extends RunOptions {
  readonly cluster: string
  /** The number of wakes in delivery at the same time. */
  readonly slots: number
  /** How long this process owns a claimed wake. */
  readonly leaseMs: number
}

export interface DeliveryDeps {
  readonly db: Kysely<Database>
  /** Commits without waiting for the disk. If such a commit is lost, the wake is claimed and delivered again. */
  readonly asyncCommitDb: Kysely<Database>
  readonly client: Client
  readonly log: Logger
  readonly now: () => Date
  readonly inFlightRuns: InFlightRuns
  /** Counts wakes and starts; absent: not counted. */
  readonly runMetrics?: Pick<RunMetrics, 'wakeClaimed' | 'runStarting'>
  /** Records a Warning Event about an invalid job ID on its object. Default: no Event. */
  readonly warn?: (object: Involved, job: string, error: ErrorReport) => Promise<void>
  /** Called for a run that was started and has not begun in time, with the due time of its wake. Default: no call. */
  readonly onSlowStart?: (run: Run, due: Date) => Promise<void>
  /** Default: the built-in controllers. */
  readonly registry?: Registry
}

// The delay for a subject whose owner is not in the journal yet. The first list of a kind takes seconds.
const UNKNOWN_OWNER_DELAY_MS = 1000
const SUPERSEDED_BEFORE_START = 'the job never began, and its object requests another job'
// The delay after two signals that found no open run.
const ENDED_RUN_DELAY_MS = 200

/** The statements of concurrent deliveries; calls at the same time share one statement or transaction. */
function journalOf(
  { db, asyncCommitDb, now, registry = builtInRegistry }: DeliveryDeps,
  { cluster, slots }: DeliveryOptions,
) {
  return {
    registry,
    now,
    findOpen: createGroupCommit(slots, async (subjects: readonly JobSubject[]) => await findOpenJobs(db, subjects)),
    readSubject: createGroupCommit(
      slots,
      async (ids: readonly ObjectID[]) => await readSubjects(db, ids, watchedKindKeys(registry)),
    ),
    announceRow: createGroupCommit(
      slots,
      async (jobs: readonly NewJob[]) => await announceJobs(asyncCommitDb, { subjects: registry }, jobs),
    ),
    openRow: createGroupCommit(slots, async (jobs: readonly NewJob[]) => {
      await openJobs(asyncCommitDb, { cluster, subjects: registry }, jobs)
      return []
    }),
  }
}

type StartResult = StartAnswer & { readonly passStarted: Promise<void> }
type Started = Extract<StartResult, { readonly answer: 'started' }>

export interface Delivery {
  readonly result: string
  /** The wake started a run; resolves when the run's first pass has started. */
  readonly started?: Promise<void>
  /** The wake signalled a run; resolves when the run's next pass has started. */
  readonly woken?: Promise<void>
  /** When the wake is delivered again; undefined: acknowledge it. */
  readonly retryAt?: Date
}

const SIGNALLED: Delivery = { result: 'signalled' }

export class WakeDelivery {
  readonly #deps: DeliveryDeps
  readonly #journal: ReturnType<typeof journalOf>
  readonly #options: DeliveryOptions
  readonly #pendingRuns: PendingRuns

  constructor(deps: DeliveryDeps, options: DeliveryOptions, pendingRuns: PendingRuns) {
    this.#deps = deps
    this.#options = options
    this.#journal = journalOf(deps, options)
    this.#pendingRuns = pendingRuns
  }

  /** @throws if the journal or Temporal is away; the caller delivers the wake again later. */
  async deliver(wake: Wake): Promise<Delivery> {
    const delivery = (await this.#resolve(wake)) ?? (await this.#resolve(wake))
    return (
      delivery ?? { result: 'the runs end while the worker signals them', retryAt: this.#after(ENDED_RUN_DELAY_MS) }
    )
  }

  /** @returns undefined: the run has ended meanwhile (B3). */
  async #resolve(wake: Wake): Promise<Delivery | undefined> {
    const { client, inFlightRuns } = this.#deps
    const resolution = await resolveWake(wake, this.#journal)
    const { warning } = resolution
    if (warning !== undefined) await this.#deps.warn?.(warning.object, warning.about, warning.error)
    if (resolution.to !== 'open') return await this.#apply(wake, resolution)
    const { job } = resolution
    const routed = inFlightRuns.routeWake(wake, job)
    if (routed === 'seen') return { result: 'its run has seen it' }
    if (routed !== 'signal') return { result: 'its run is at work', retryAt: routed }
    const woken = this.#pendingRuns.waitForPass(job.workflow_id, { passes: job.passes })
    if (await signalRun(client, job.workflow_id, wake.seq)) return { ...SIGNALLED, woken }
    this.#pendingRuns.passStarted(job.workflow_id)
    return isStartPending(job) ? await this.#startPending(wake, job) : await this.#recordLost(job)
  }

  /** B4. Repeats a start that failed, and waits for a start that another process may be doing. */
  async #startPending(wake: Wake, job: Job): Promise<Delivery | undefined> {
    const resolution = wake.may_start && isSubjectOf(wake, job) ? await resolveStart(wake, this.#journal) : undefined
    const next = resolution?.to === 'start' ? resolution.run : undefined
    // No run is lost by that: if the first start did succeed, Temporal reports the existing run.
    if (next?.workflowID === job.workflow_id) return await this.#start(wake, next)
    const mayBeStarting = this.#deps.now().getTime() < job.started_at.getTime() + this.#options.leaseMs
    return mayBeStarting
      ? { result: 'another process is starting the run', retryAt: this.#after(UNKNOWN_OWNER_DELAY_MS) }
      : await this.#recordLost(job, next)
  }

  /**
   * @param next the job that the subject requests instead of a job that never began.
   * @returns undefined: the run has closed its row and ended.
   */
  async #recordLost(job: Job, next?: Run): Promise<Delivery | undefined> {
    const { db, log, now } = this.#deps
    // In one transaction with a wake: this wake may not be allowed to start a run, and a crash here must leave nothing unfinished.
    const change = next === undefined ? {} : ({ cause: SUPERSEDED_BEFORE_START, outcome: 'Superseded' } as const)
    if ((await recordLostJob(db, job, now(), change)) === 'over') return undefined
    if (next !== undefined) return { result: `${SUPERSEDED_BEFORE_START}: its object is woken` }
    log.info({ workflowID: job.workflow_id }, 'the run does not exist in Temporal any more')
    return { result: 'the run does not exist in Temporal any more: its object is woken' }
  }

  #after(ms: number): Date {
    return new Date(this.#deps.now().getTime() + ms)
  }

  async #apply(wake: Wake, resolution: ResolvedWithoutOpenRun): Promise<Delivery | undefined> {
    const { db, client } = this.#deps
    switch (resolution.to) {
      case 'start':
        return await this.#start(wake, resolution.run)
      case 'later':
        return { result: resolution.reason, retryAt: resolution.at ?? this.#after(UNKNOWN_OWNER_DELAY_MS) }
      case 'nothing':
        if (resolution.unrecorded !== undefined && !(await hasJobRow(db, resolution.unrecorded)))
          await signalRun(client, resolution.unrecorded, wake.seq)
        return { result: resolution.reason }
    }
  }

  async #start(wake: Wake, run: Run): Promise<Delivery | undefined> {
    if (!this.#isServedHere(run)) return await this.#wakeHost(wake, run)
    return await this.#startOurs(wake, withHandledTypes(run, this.#options.shares))
  }

  /** The host's controller may run in other processes only. */
  #isServedHere({ controller }: Run): boolean {
    return this.#options.controllers?.includes(controller) !== false
  }

  /** A process that runs the host's controller starts the host's run, which then handles the types of that process. */
  async #wakeHost({ seq, cause }: Wake, { controller, input: { subject } }: Run): Promise<Delivery> {
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
    return { result: 'its host is woken' }
  }

  async #startOurs(wake: Wake, run: Run): Promise<Delivery | undefined> {
    const { inFlightRuns } = this.#deps
    inFlightRuns.runStarted(run.workflowID)
    // B1. A start that fails leaves a row that the next attempt finds. The row of an ended run stays unchanged until it is clear whether the run is started again.
    const isOpen = !isLevel(run) && (await this.#journal.announceRow(this.#rowOf(run, null)))
    const first = await this.#startRun(wake, run, isLevel(run))
    // After the lease the row may have been closed (B2).
    if (first.answer === 'started' && isOpen && this.#isLeased(wake))
      return { result: 'started', started: first.passStarted }
    if (first.answer === 'started') return await this.#recordStart(wake, run, first)
    if (first.answer === 'running' && isLevel(run)) return await this.#wakeLevel(wake, run)
    if (first.answer === 'running')
      return isOwnWrite(wake, run) ? await this.#openRow(wake, run, null) : await this.#signal(wake, run)
    return await this.#startAgain(wake)
  }

  /**
   * A run of this ID has ended. If the subject in the journal still requests the job, the job is unfinished: the run crashed, was terminated, or was superseded.
   */
  async #startAgain(wake: Wake): Promise<Delivery | undefined> {
    const resolution = await resolveStart(wake, this.#journal)
    if (resolution.to === 'nothing') return { result: 'stale: the job is finished' }
    if (resolution.to !== 'start') return await this.#apply(wake, resolution)
    const next = await withPreviousTypes(this.#deps.db, resolution.run, this.#options.shares)
    if (!isLevel(next)) await this.#openRow(wake, next, null)
    const second = await this.#startRun(wake, next, true)
    return second.answer === 'started' ? await this.#recordStart(wake, next, second) : await this.#signal(wake, next)
  }

  async #startRun({ due, seq }: Wake, run: Run, again: boolean): Promise<StartResult> {
    this.#deps.runMetrics?.runStarting(run.workflowID, { due, seq })
    const passStarted = this.#pendingRuns.waitForPass(run.workflowID, {
      late: () => void this.#deps.onSlowStart?.(run, due),
    })
    try {
      const answer = await startRun(this.#deps.client, run, this.#options, again)
      if (answer.answer !== 'started') this.#pendingRuns.passStarted(run.workflowID)
      return { ...answer, passStarted }
    } catch (error) {
      this.#pendingRuns.passStarted(run.workflowID)
      throw error
    }
  }

  async #recordStart(wake: Wake, run: Run, { runID, passStarted }: Started): Promise<Delivery> {
    await this.#openRow(wake, run, runID)
    return { result: 'started', started: passStarted }
  }

  /**
   * A run in level mode may end at any moment and closes its row when it ends. So the row is opened before the signal, and if the run has ended, the next
   * one is started at once. @returns undefined: another process has started it.
   */
  async #wakeLevel(wake: Wake, run: Run): Promise<Delivery | undefined> {
    if (isOwnWrite(wake, run)) return { result: 'own write' }
    const { client } = this.#deps
    await this.#openRow(wake, run, null)
    if (await signalRun(client, run.workflowID, wake.seq)) return SIGNALLED
    const next = await this.#startRun(wake, run, true)
    return next.answer === 'started' ? await this.#recordStart(wake, run, next) : undefined
  }

  async #signal(wake: Wake, run: Run): Promise<Delivery | undefined> {
    const isThere = await signalRun(this.#deps.client, run.workflowID, wake.seq)
    return isThere ? await this.#openRow(wake, run, null) : undefined
  }

  /** @throws if the lease expired: another dispatcher may have taken the wake and seen the end of the job. */
  async #openRow(wake: Wake, run: Run, runID: string | null): Promise<Delivery> {
    if (!this.#isLeased(wake))
      throw new Error(`the lease of the wake expired during the start of run ${run.workflowID}`)
    await this.#journal.openRow(this.#rowOf(run, runID))
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

/** In level mode all runs of an object have the same ID. */
function isLevel({ input }: Run): boolean {
  return input.jobID === ''
}

/** The row has no run ID: the start is not confirmed. In level mode, rows are opened for running runs only. */
function isStartPending({ job_id, run_id }: Job): boolean {
  return job_id !== '' && run_id === null
}

function isSubjectOf(wake: Wake, { controller, uid }: Job): boolean {
  return wake.controller === controller && wake.uid === uid
}

/** A write never wakes the run that made it. Here the run's row was not written yet. */
function isOwnWrite(wake: Wake, { workflowID }: Run): boolean {
  return !wake.foreign_event && wake.writer === workflowID
}

// Which deploy item types a started run handles. Source: docs/adr/0027.

/** The run, with the types that this process handles. */
export function withHandledTypes(run: Run, shares: readonly PartitionShare[] = []): Run {
  const serves = handledTypesOf(shares, run.controller)
  return serves === undefined ? run : { ...run, input: { ...run.input, serves } }
}

/** A job that is started again handles the types of its previous run if this process can: other workers may be running the items of all other types. */
export async function withPreviousTypes(
  db: Kysely<Database>,
  run: Run,
  shares?: readonly PartitionShare[],
): Promise<Run> {
  const runHere = withHandledTypes(run, shares)
  const serves = (await handledPartitionsOf(db, run.workflowID)) ?? undefined
  const canHandle = serves?.every((lane) => isPartitionHandled(runHere.input.serves, lane)) === true
  return canHandle ? { ...runHere, input: { ...runHere.input, serves } } : runHere
}
