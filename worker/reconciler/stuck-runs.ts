// Runs whose workflow task fails again and again, because their code throws, or because it is another one than that which made them. Temporal would try
// them ever more rarely, for ever, and tell nobody. Status and journal are the only state between passes, so any such run may be ended, and its job
// begun anew from what the object shows. Source: docs/architecture.md "Changes of code".
//
//   U1. Whoever sees a run fail notes it in the journal; any worker may help. So workers of two builds may run beside each other.
//   U2. A run that does not fit is started anew by whoever is there. The new one is made by one build, so it fits until it changes hands.
//   U3. A run that met a bug is started anew by another build, or when its object has changed: the same code would throw at the same object again.
//   U4. Nobody is ended who goes on: Temporal is asked, for that very run, whether its task fails.
//   U5. The next restart of a job comes not before SPACING_MS, so two builds that take a run from each other do no more than that. A bug that this
//       worker has helped with as the other build comes ever more rarely, as for the code that has it.

import { hostname } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Client, WorkflowNotFoundError } from '@temporalio/client'
import type { InjectedSinks } from '@temporalio/worker'
import type { WorkflowInfo } from '@temporalio/workflow'
import type { Kysely } from 'kysely'

import type { Database } from '../../activities/journal/database.ts'
import type { Job } from '../../activities/journal/write/jobs.ts'
import {
  claimRestart,
  forgetStuckRun,
  jobOfRun,
  recordStuckRun,
  openJobOf,
  recordLastError,
  type StuckRunReport,
  type StuckRun,
  stuckRuns,
} from '../../activities/journal/write/stuck-runs.ts'
import { recordLostJob } from '../../activities/journal/write/resync.ts'
import type { KubeClient } from '../../activities/kube/client.ts'
import { isAlreadyExists, isConflict } from '../../activities/kube/errors.ts'
import { recordWarning } from '../../activities/kube/events.ts'
import {
  bugReport,
  nondeterminismIn,
  problemReport,
  type RestartCause,
  restartReport,
} from '../../activities/run/failure-reports.ts'
import { terminateStranded } from './runs.ts'
import { leftLanes, type Queues } from './task-queues.ts'
import type { Logger } from '../server/log.ts'
import type { Registry } from '../server/registry.ts'
import { readTelling, type tellingPlace, writeTelling } from '../server/report-object.ts'
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
  /** Lists a bug where people look for them. Default: nowhere. Never throws. */
  readonly recordProblem?: (description: string) => Promise<void>
}

export interface StuckRunsOptions extends Pick<Queues, 'controllers' | 'shares'> {
  readonly cluster: string
  /** Of the workflows of this process. */
  readonly build: string
}

/** Between two looks at what other workers have noted. */
const LOOK_MS = 5000
/** After a failure here: by then Temporal knows of it. */
const SOON_MS = 500
/** A run whose task does not fail after that has gone on. */
const GONE_ON_MS = 15_000

const WHY: Readonly<Record<RestartCause, string>> = {
  misfit: 'a run does not fit the present code; it is started anew from what its object shows',
  'bug of other code': 'a run that met a bug of other code is started anew',
  'bug before a change': 'a run that met a bug is started anew: its object has changed',
}

type Failing = 'fails' | 'not yet' | 'ended'

export class StuckRuns {
  readonly #deps: StuckRunsDeps
  readonly #options: StuckRunsOptions
  /** Workflow IDs (U5). */
  readonly #helped = new Set<string>()
  #nudge: () => void = () => undefined

  constructor(deps: StuckRunsDeps, options: StuckRunsOptions) {
    this.#deps = deps
    this.#options = options
  }

  /** What a worker listens to. */
  sinks(): InjectedSinks<RunSinks> {
    return { runs: { threw: { fn: (info, thrown) => this.#told(this.#threw(info, thrown)), callDuringReplay: true } } }
  }

  /** A run cannot be replayed here. */
  readonly doesNotFit = (runID: string, message: string): void => {
    this.#told(this.#differs(runID, nondeterminismIn(message)))
  }

  /** Starts anew what may be, until the signal is aborted. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const nudged = new Promise<number>((resolve) => {
        this.#nudge = () => resolve(SOON_MS)
      })
      await this.#look().catch((error: unknown) =>
        this.#deps.log.warn({ err: error }, 'stuck runs cannot be looked for'),
      )
      const waitMs = await Promise.race([nudged, pause(LOOK_MS, signal).then(() => 0)])
      await pause(waitMs, signal)
    }
  }

  /** Nobody waits for it: a note that is not written is written at the next try of the task. */
  #told(noting: Promise<void>): void {
    noting
      .catch((error: unknown) => this.#deps.log.warn({ err: error }, 'a stuck run could not be noted'))
      .finally(() => this.#nudge())
  }

  async #threw({ workflowId, runId }: WorkflowInfo, thrown: ReportedBug): Promise<void> {
    const report = bugReport(thrown, process.cwd())
    const { message } = report
    const note = { workflowID: workflowId, runID: runId, build: this.#options.build, message }
    if (thrown.isReplaying) await this.#noteMisfit({ ...note, reason: 'misfit' }, thrown.subject)
    else await this.#noteBug({ ...note, reason: 'bug' }, thrown, report)
  }

  async #noteBug(note: StuckRunReport, thrown: ReportedBug, report: ErrorReport): Promise<void> {
    const { db, log, now } = this.#deps
    const { workflowID, runID, message } = note
    const { subject } = thrown
    const isNews = await recordStuckRun(db, note, now())
    // At each try: the row may not have been there before.
    await recordLastError(db, workflowID, { reason: report.reason, message })
    if (!isNews) return
    log.error({ ...named(subject, workflowID), found: message }, 'a bug: passes of this object wait for better code')
    await this.#warn(subject, workflowID, runID, report)
    await this.#deps.recordProblem?.(problemReport(thrown, controllerInID(workflowID), process.cwd()))
  }

  async #differs(runID: string, found: string): Promise<void> {
    const job = await this.#jobOf(runID)
    if (job === undefined) return
    const note = { workflowID: job.workflow_id, runID, build: this.#options.build, message: found }
    await this.#noteMisfit({ ...note, reason: 'misfit' }, this.#subjectOf(job))
  }

  async #noteMisfit(note: StuckRunReport, subject: Subject): Promise<void> {
    const { db, log, now } = this.#deps
    if (!(await recordStuckRun(db, note, now()))) return
    log.debug({ ...named(subject, note.workflowID), found: note.message }, 'a run does not fit the present code')
  }

  /** Rows in level mode name the first run of those that go on in each other; of later ones Temporal knows the ID. */
  async #jobOf(runID: string): Promise<Job | undefined> {
    const { db, client } = this.#deps
    const known = await jobOfRun(db, runID)
    if (known !== undefined) return known
    for await (const { workflowId } of client.workflow.list({ query: `RunId = '${runID}'` }))
      return await openJobOf(db, workflowId)
    return undefined
  }

  async #look(): Promise<void> {
    const { db, log, now, registry } = this.#deps
    const { cluster, build, controllers = [...registry.controllers.keys()], shares = [] } = this.#options
    const query = { cluster, controllers, left: leftLanes(shares), build, helped: this.#helped }
    for (const stuck of await stuckRuns(db, query, now())) {
      try {
        await this.#help(stuck)
      } catch (error) {
        log.warn(
          { workflowID: stuck.job.workflow_id, err: error },
          'a stuck run could not be started anew; trying again',
        )
      }
    }
  }

  async #help(stuck: StuckRun): Promise<void> {
    const { db, now } = this.#deps
    const failing = await this.#isFailing(stuck)
    const isOld = stuck.at.getTime() < now().getTime() - GONE_ON_MS
    if (failing === 'fails') await this.#startAnew(stuck)
    else if (failing === 'ended' || isOld) await forgetStuckRun(db, stuck)
  }

  /** U4 */
  async #isFailing({ job, runID }: StuckRun): Promise<Failing> {
    try {
      const { status, raw } = await this.#deps.client.workflow.getHandle(job.workflow_id, runID).describe()
      if (status.name !== 'RUNNING') return 'ended'
      return (raw.pendingWorkflowTask?.attempt ?? 0) > 1 ? 'fails' : 'not yet'
    } catch (error) {
      if (error instanceof WorkflowNotFoundError) return 'ended'
      throw error
    }
  }

  async #startAnew(stuck: StuckRun): Promise<void> {
    const { db, client, log, now } = this.#deps
    const { job, runID, reason, message: found } = stuck
    const { workflow_id: workflowID } = job
    if (!(await claimRestart(db, workflowID, now()))) return
    const cause = this.#causeOf(stuck)
    if (cause === 'bug of other code') this.#helped.add(workflowID)
    const report = restartReport(cause, found)
    // What was found may quote an object, and this text goes to Temporal as it is.
    await terminateStranded(client, workflowID, WHY[cause], runID)
    const subject = this.#subjectOf(job)
    log.warn({ ...named(subject, workflowID), found }, WHY[cause])
    await recordLostJob(db, job, now(), {
      cause: reason === 'misfit' ? 'its run was made by other code' : 'its run met a bug',
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

function named({ kind, namespace, name }: Subject, workflowID: string) {
  return { controller: controllerInID(workflowID), kind, namespace, name, workflowID }
}

async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await sleep(ms, undefined, { signal }).catch(() => undefined)
}

// Bugs that workers met, listed in an object for people who look after the engine: the newest ones, with which object it was and where it was thrown.
//
//   C1. Several workers write it: each write is for the version that was read.
//   C2. It only repeats what log, journal and an Event on the object say, so that what cannot be written is logged, and nothing waits for it.

export interface ProblemDeps {
  readonly kube: Pick<KubeClient, 'request'>
  readonly log: Pick<Logger, 'warn'>
  readonly now: () => Date
  /** Undefined: nothing is listed. */
  readonly place: ReturnType<typeof tellingPlace>
}

const TRIES = 5

/** What adds a bug to the list, one after the other. Never throws. */
export function createProblemList(deps: ProblemDeps): (description: string) => Promise<void> {
  let last = Promise.resolve()
  return (description) => (last = last.then(() => record(deps, description)))
}

async function record({ kube, log, now, place }: ProblemDeps, description: string): Promise<void> {
  if (place === undefined) return
  const { at, tells } = place
  const problem = { place: hostname(), at: now().toISOString(), description }
  for (let tries = 1; ; tries++) {
    try {
      const found = await readTelling(kube, tells.problems, at)
      await writeTelling(kube, { of: tells.problems, at, before: found }, tells.problems.with(found, problem))
      return
    } catch (error) {
      // C1
      if ((isConflict(error) || isAlreadyExists(error)) && tries < TRIES) continue
      log.warn({ err: error }, 'a bug could not be listed')
      return
    }
  }
}
