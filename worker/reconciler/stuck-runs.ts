// Restarts runs whose workflow task fails repeatedly, because their code throws or because other code made their history. Temporal would retry them for ever
// with growing delays. Status and journal are the only state between passes, so such a run can be terminated, and its job started again from the object's
// state. Source: docs/concepts/architecture.md "Changes of code".
//
//   U1. The worker that sees a run fail notes it in the journal; any worker may restart it. So workers of two builds can run side by side.
//   U2. Any worker may restart a non-replayable run. Workers of one build make the new run, so it can be replayed until the other build takes it.
//   U3. A run that hit a bug is restarted by a worker of another build, or after its object has changed: the same code would throw again at the same object.
//   U4. A healthy run is never terminated: Temporal is queried whether the workflow task of that very run fails.
//   U5. Restarts of a job are at least SPACING_MS apart, so two builds that take a run from each other do no more than that. Restarts by this worker after a
//       bug of another build have growing delays, as for the build that has the bug.
//   U6. The report of a bug in the object's status is a change of the object, but no reason to restart its run.

import { hostname } from 'node:os'
import { type Client, WorkflowNotFoundError } from '@temporalio/client'
import type { InjectedSinks } from '@temporalio/worker'
import type { WorkflowInfo } from '@temporalio/workflow'
import type { Kysely } from 'kysely'

import type { Database } from '../../activities/journal/database.ts'
import type { Job } from '../../activities/journal/write/jobs.ts'
import {
  claimRestart,
  forgetStuckRun,
  passOverReport,
  jobOfRun,
  recordStuckRun,
  openJobOf,
  recordLastError,
  type StuckRunReport,
  type StuckQuery,
  type StuckRun,
  stuckRuns,
} from '../../activities/journal/write/stuck-runs.ts'
import { recordLostJob } from '../../activities/journal/write/resync.ts'
import type { KubeClient } from '../../activities/kube/client.ts'
import { isAlreadyExists, isConflict } from '../../activities/kube/errors.ts'
import { recordWarning } from '../../activities/kube/events.ts'
import {
  bugReport,
  endlessBug,
  nondeterminismIn,
  problemReport,
  type RestartCause,
  restartReport,
} from '../../activities/run/failure-reports.ts'
import { reportBug } from '../../activities/run/report-bug.ts'
import { terminateRun } from './runs.ts'
import { excludedPartitions, type TaskQueues } from './task-queues.ts'
import { pause } from '../server/backoff.ts'
import type { Logger } from '../server/log.ts'
import type { Registry } from '../server/registry.ts'
import { readReportObject, type reportTarget, writeReportObject } from '../server/report-object.ts'
import {
  controllerInID,
  type ErrorReport,
  groupKindOf,
  type RunSinks,
  type Subject,
  type ReportedBug,
} from '../../workflows/kit/index.ts'

export interface StuckRunsDeps {
  readonly db: Kysely<Database>
  readonly kube: KubeClient
  readonly client: Client
  readonly log: Logger
  readonly now: () => Date
  readonly registry: Registry
  /** Adds a bug to the list for operators. Default: no list. Never throws. */
  readonly recordProblem?: (description: string) => Promise<void>
}

export interface StuckRunsOptions extends Pick<TaskQueues, 'controllers' | 'shares'> {
  readonly cluster: string
  /** The build of this process's workflows. */
  readonly build: string
}

/** The interval between two polls for the notes of all workers. */
const POLL_MS = 5000
/** The delay after a failure in this process: by then Temporal counts the failed attempt. */
const AFTER_FAILURE_MS = 500
/** A run whose task has not failed again after this time has recovered. */
const RECOVERED_MS = 15_000

const RESTART_REASONS: Readonly<Record<RestartCause, string>> = {
  misfit: 'a run cannot be replayed by the present code; it is restarted from the state of its object',
  'bug of other code': 'restarting a run that failed with a bug of other code',
  'bug before a change': 'restarting a run that failed with a bug, because its object has changed',
}

type TaskState = 'fails' | 'not yet' | 'ended'

export class StuckRuns {
  readonly #deps: StuckRunsDeps
  readonly #options: StuckRunsOptions
  /** Workflow IDs of runs that this process restarted after a bug of another build (U5). */
  readonly #restarted = new Set<string>()
  /** Controllers whose objects cannot have the condition `Ready`. */
  readonly #withoutReport = new Set<string>()
  /** The resourceVersions of reports of bugs that this process has written, by workflow ID, until it has seen their events (U6). */
  readonly #reports = new Map<string, string>()
  #wakeUp: () => void = () => undefined

  constructor(deps: StuckRunsDeps, options: StuckRunsOptions) {
    this.#deps = deps
    this.#options = options
  }

  /** The sinks of the worker: they receive errors that workflow code throws. */
  sinks(): InjectedSinks<RunSinks> {
    return {
      runs: {
        threw: {
          fn: (info, thrown) => this.#noteInBackground(info.runId, this.#noteThrown(info, thrown)),
          callDuringReplay: true,
        },
      },
    }
  }

  /** Call it when the SDK cannot replay a run. */
  readonly onNondeterminism = (runID: string, message: string): void => {
    this.#noteInBackground(runID, this.#noteReplayFailure(runID, nondeterminismIn(message)))
  }

  /** Call it when the SDK has stopped the code of a run, which then cannot report this by itself. */
  readonly onEndlessCode = (runID: string): void => {
    this.#noteInBackground(runID, this.#noteEndlessCode(runID))
  }

  /** Restarts stuck runs until the signal is aborted. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const notified = new Promise<number>((resolve) => {
        this.#wakeUp = () => resolve(AFTER_FAILURE_MS)
      })
      await this.#poll().catch((error: unknown) => this.#deps.log.warn({ err: error }, 'stuck runs could not be read'))
      const waitMs = await Promise.race([notified, pause(POLL_MS, signal).then(() => 0)])
      await pause(waitMs, signal)
    }
  }

  /** Runs in the background: if a note cannot be written, the next attempt of the workflow task writes it. */
  #noteInBackground(runID: string, noting: Promise<void>): void {
    noting
      .catch((error: unknown) => this.#deps.log.warn({ runID, err: error }, 'a stuck run could not be recorded'))
      .finally(() => this.#wakeUp())
  }

  async #noteEndlessCode(runID: string): Promise<void> {
    const job = await this.#jobOf(runID)
    if (job === undefined) return
    const thrown = endlessBug(this.#subjectOf(job), job.job_id)
    await this.#noteThrown({ workflowId: job.workflow_id, runId: runID }, thrown)
  }

  async #noteThrown(
    { workflowId, runId }: Pick<WorkflowInfo, 'workflowId' | 'runId'>,
    thrown: ReportedBug,
  ): Promise<void> {
    const report = bugReport(thrown, controllerInID(workflowId), process.cwd())
    const { message } = report
    const note = { workflowID: workflowId, runID: runId, build: this.#options.build, message }
    if (thrown.isReplaying) await this.#noteNonReplayable({ ...note, reason: 'misfit' }, thrown.subject)
    else await this.#noteBug({ ...note, reason: 'bug' }, thrown, report)
  }

  async #noteBug(note: StuckRunReport, thrown: ReportedBug, report: ErrorReport): Promise<void> {
    const { db, log, now } = this.#deps
    const { workflowID, runID, message } = note
    const { subject } = thrown
    const isNew = await recordStuckRun(db, note, now())
    // At each attempt: the run's row may have been missing before, and the API server may not have answered.
    await recordLastError(db, workflowID, { reason: report.reason, message })
    await this.#reportOnObject(subject, workflowID, message)
    if (!isNew) return
    log.error(
      { ...logFields(subject, workflowID), found: message },
      'a bug: passes of this object wait until the code or the object changes',
    )
    await this.#warn(subject, workflowID, runID, report)
    await this.#deps.recordProblem?.(problemReport(thrown, controllerInID(workflowID), process.cwd()))
  }

  /** A failed write is repeated at the next attempt of the workflow task. */
  async #reportOnObject(subject: Subject, workflowID: string, message: string): Promise<void> {
    const name = controllerInID(workflowID)
    const controller = this.#deps.registry.controllers.get(name)
    if (controller === undefined || this.#withoutReport.has(name)) return
    try {
      const report = await reportBug(this.#deps, controller, subject, message)
      if (report === 'impossible') this.#withoutReport.add(name)
      else if (report !== 'present') this.#reports.set(workflowID, report.version)
    } catch (error) {
      this.#deps.log.warn(
        { ...logFields(subject, workflowID), err: error },
        'a bug could not be reported in the status',
      )
    }
  }

  async #noteReplayFailure(runID: string, found: string): Promise<void> {
    const job = await this.#jobOf(runID)
    if (job === undefined) return
    const note = { workflowID: job.workflow_id, runID, build: this.#options.build, message: found }
    await this.#noteNonReplayable({ ...note, reason: 'misfit' }, this.#subjectOf(job))
  }

  async #noteNonReplayable(note: StuckRunReport, subject: Subject): Promise<void> {
    const { db, log, now } = this.#deps
    if (!(await recordStuckRun(db, note, now()))) return
    log.debug(
      { ...logFields(subject, note.workflowID), found: note.message },
      'a run cannot be replayed by the present code',
    )
  }

  /** Rows in level mode have the ID of the first run; Temporal resolves the IDs of later runs of the continue-as-new chain. */
  async #jobOf(runID: string): Promise<Job | undefined> {
    const { db, client } = this.#deps
    const known = await jobOfRun(db, runID)
    if (known !== undefined) return known
    for await (const { workflowId } of client.workflow.list({ query: `RunId = '${runID}'` }))
      return await openJobOf(db, workflowId)
    return undefined
  }

  async #poll(): Promise<void> {
    const { db, log, now, registry } = this.#deps
    const { cluster, build, controllers = [...registry.controllers.keys()], shares = [] } = this.#options
    const query: StuckQuery = {
      cluster,
      controllers,
      unhandledPartitions: excludedPartitions(shares),
      build,
      helpedBefore: this.#restarted,
    }
    for (const stuck of await stuckRuns(db, query, now())) {
      try {
        await this.#handle(stuck)
      } catch (error) {
        log.warn({ workflowID: stuck.job.workflow_id, err: error }, 'a stuck run could not be restarted; trying again')
      }
    }
  }

  async #handle(stuck: StuckRun): Promise<void> {
    const { db, now } = this.#deps
    if (await this.#isOnlyReported(stuck)) return
    const state = await this.#taskStateOf(stuck)
    const hasRecovered = stuck.at.getTime() < now().getTime() - RECOVERED_MS
    if (state === 'fails') await this.#restart(stuck)
    else if (state === 'ended' || hasRecovered) await forgetStuckRun(db, stuck)
  }

  /** U6 */
  async #isOnlyReported(stuck: StuckRun): Promise<boolean> {
    const workflowID = stuck.job.workflow_id
    const version = this.#reports.get(workflowID)
    if (version === undefined || this.#causeOf(stuck) !== 'bug before a change') return false
    this.#reports.delete(workflowID)
    return await passOverReport(this.#deps.db, stuck, version)
  }

  /** U4 */
  async #taskStateOf({ job, runID }: StuckRun): Promise<TaskState> {
    try {
      const { status, raw } = await this.#deps.client.workflow.getHandle(job.workflow_id, runID).describe()
      if (status.name !== 'RUNNING') return 'ended'
      return (raw.pendingWorkflowTask?.attempt ?? 0) > 1 ? 'fails' : 'not yet'
    } catch (error) {
      if (error instanceof WorkflowNotFoundError) return 'ended'
      throw error
    }
  }

  async #restart(stuck: StuckRun): Promise<void> {
    const { db, client, log, now } = this.#deps
    const { job, runID, reason, message: found } = stuck
    const { workflow_id: workflowID } = job
    if (!(await claimRestart(db, workflowID, now()))) return
    const cause = this.#causeOf(stuck)
    if (cause === 'bug of other code') this.#restarted.add(workflowID)
    const report = restartReport(cause, found)
    // The error may quote an object, and this reason goes to Temporal unencrypted.
    await terminateRun(client, workflowID, RESTART_REASONS[cause], runID)
    const subject = this.#subjectOf(job)
    log.warn({ ...logFields(subject, workflowID), found }, RESTART_REASONS[cause])
    await recordLostJob(db, job, now(), {
      cause: reason === 'misfit' ? 'its run was started by other code' : 'its run failed with a bug',
    })
    await forgetStuckRun(db, stuck)
    if (reason === 'misfit') await this.#warn(subject, workflowID, runID, report)
  }

  #causeOf({ reason, build }: StuckRun): RestartCause {
    if (reason === 'misfit') return 'misfit'
    return build === this.#options.build ? 'bug before a change' : 'bug of other code'
  }

  #subjectOf({ controller, uid, namespace, name }: Job): Subject {
    const target = this.#deps.registry.controllers.get(controller)?.target
    return { ...(target === undefined ? { kind: controller } : groupKindOf(target)), uid, namespace, name }
  }

  async #warn(subject: Subject, workflowID: string, runID: string, report: ErrorReport): Promise<void> {
    const target = this.#deps.registry.controllers.get(controllerInID(workflowID))?.target
    if (target !== undefined)
      await recordWarning(this.#deps, { ...subject, apiVersion: target.apiVersion }, runID, report)
  }
}

function logFields({ kind, namespace, name }: Subject, workflowID: string) {
  return { controller: controllerInID(workflowID), kind, namespace, name, workflowID }
}

// The list of bugs in an object for operators: the newest ones, with the affected object and the place in the code.
//
//   C1. Several workers write the list: each write has the resourceVersion that was read.
//   C2. The list only repeats the log, the journal and an Event on the object. A failed write is logged, and nothing waits for it.

export interface ProblemDeps {
  readonly kube: Pick<KubeClient, 'request'>
  readonly log: Pick<Logger, 'warn'>
  readonly now: () => Date
  /** Undefined: no list. */
  readonly place: ReturnType<typeof reportTarget>
}

const MAX_ATTEMPTS = 5

/** @returns a function that adds bugs to the list, one after the other. Never throws. */
export function createProblemList(deps: ProblemDeps): (description: string) => Promise<void> {
  let last = Promise.resolve()
  return (description) => (last = last.then(() => record(deps, description)))
}

async function record({ kube, log, now, place }: ProblemDeps, description: string): Promise<void> {
  if (place === undefined) return
  const { at, tells } = place
  const problem = { place: hostname(), at: now().toISOString(), description }
  for (let attempts = 1; ; attempts++) {
    try {
      const found = await readReportObject(kube, tells.problems, at)
      await writeReportObject(kube, { of: tells.problems, at, before: found }, tells.problems.with(found, problem))
      return
    } catch (error) {
      // C1
      if ((isConflict(error) || isAlreadyExists(error)) && attempts < MAX_ATTEMPTS) continue
      log.warn({ err: error }, 'a bug could not be recorded in the object of --critical-problems')
      return
    }
  }
}
