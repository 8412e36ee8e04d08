// The periodic resync: finds subjects and runs that no event will wake. Runs at start, every minute, and after a clock step.
// Source: docs/concepts/architecture.md "Journal" (resync).

import { hostname } from 'node:os'
import type { Client } from '@temporalio/client'
import type { Kysely } from 'kysely'

import type { Database } from '../../activities/journal/database.ts'
import { jobsOfFormerBuilds, isRecordedStuck } from '../../activities/journal/write/stuck-runs.ts'
import type { Job } from '../../activities/journal/write/jobs.ts'
import { wakeSubjects } from '../../activities/journal/write/subscriptions.ts'
import {
  jobsToLookUp,
  lookUpAgain,
  recordLostJob,
  resyncWakes,
  wakeIfBehind,
} from '../../activities/journal/write/resync.ts'
import { watchedKindKeys } from './resolve-wake.ts'
import { hasPollers, findOpenRun, recentPollers, terminateRun } from './runs.ts'
import { excludedPartitions, type TaskQueues, taskQueuesOf } from './task-queues.ts'
import { pause } from '../server/backoff.ts'
import type { Logger } from '../server/log.ts'
import { builtInRegistry, type Registry } from '../server/registry.ts'
import { groupKindOf, type LevelDeclaration } from '../../workflows/kit/index.ts'

export interface ResyncOptions extends TaskQueues {
  readonly cluster: string
  readonly everyMs: number
}

export interface ResyncDeps {
  readonly db: Kysely<Database>
  readonly client: Client
  readonly log: Logger
  readonly now: () => Date
  /** Default: the built-in controllers. */
  readonly registry?: Registry
  /** Registers a callback for clock steps: due times may be due at once, or much later. Absent: no clock is watched. */
  readonly onClockStep?: (listener: () => void) => void
}

/** Repeats the resync until the signal is aborted. An error ends one resync, not the loop; a failed wake of one controller does not stop the others. */
export async function runResync(deps: ResyncDeps, options: ResyncOptions, signal: AbortSignal): Promise<void> {
  const levels = levelControllersOf(deps, options)
  const toWake = new Map(levels.map((level) => [level, 'a worker started']))
  let pauseEnd = new AbortController()
  deps.onClockStep?.(() => {
    for (const level of levels) toWake.set(level, 'a clock was set')
    pauseEnd.abort()
  })
  while (!signal.aborted) {
    pauseEnd = new AbortController()
    // A copy of the map, because failed controllers are added to it again.
    for (const [level, cause] of [...toWake])
      await logFailure(deps, { controller: level.name }, async () => {
        // Removed first, because a clock step may add it meanwhile.
        toWake.delete(level)
        await wakeLevelController(deps, options, level, cause).catch((error: unknown) => {
          toWake.set(level, cause)
          throw error
        })
      })
    await logFailure(deps, {}, async () => await resyncOnce(deps, options))
    const until = AbortSignal.any([signal, pauseEnd.signal])
    await pause(options.everyMs, until)
  }
}

async function logFailure({ log }: ResyncDeps, subject: object, act: () => Promise<void>): Promise<void> {
  try {
    await act()
  } catch (error) {
    log.warn({ ...subject, err: error }, 'sweep failed; trying again')
  }
}

type ControllerSelection = Pick<ResyncOptions, 'cluster' | 'controllers'>

function levelControllersOf(
  { registry = builtInRegistry }: ResyncDeps,
  { controllers }: ControllerSelection,
): readonly LevelDeclaration[] {
  return registry.levels.filter(({ name }) => controllers?.includes(name) !== false)
}

/** Wakes all objects of the controllers in level mode: a worker that starts may have new code for them. */
export async function wakeLevelControllers(
  deps: ResyncDeps,
  options: ControllerSelection,
  cause: string,
): Promise<void> {
  for (const level of levelControllersOf(deps, options)) await wakeLevelController(deps, options, level, cause)
}

async function wakeLevelController(
  { db, log, now }: ResyncDeps,
  { cluster }: ControllerSelection,
  { name, target, predicate }: LevelDeclaration,
  cause: string,
): Promise<void> {
  const woken = await wakeSubjects(db, { cluster, controller: name, ...groupKindOf(target), cause, predicate }, now())
  if (woken > 0) log.info({ controller: name, woken, cause }, 'waking the objects of a controller')
}

/** One resync of the controllers that this process runs. Other workers check the runs that this process cannot start again. */
export async function resyncOnce(deps: ResyncDeps, options: Omit<ResyncOptions, 'everyMs'>): Promise<void> {
  const { db, log, now, registry = builtInRegistry } = deps
  const { cluster, controllers = [...registry.controllers.keys()], shares = [] } = options
  // Objects in level mode are woken by events, and by every worker that starts.
  const jobControllers = [...registry.controllers.values()].filter(
    ({ name, mode }) => mode !== 'level' && controllers.includes(name),
  )
  const woken = await resyncWakes(db, {
    cluster,
    now: now(),
    controllers: jobControllers,
    subjectKinds: registry.subjectKinds,
    watchedKinds: watchedKindKeys(registry),
  })
  if (woken > 0) log.info({ woken }, 'sweep woke objects without a run')
  await forEachJob(deps, await jobsOfFormerBuilds(db, { cluster, controllers }), async (job) => {
    await endPreviousRun(deps, options, job)
  })
  await forEachJob(
    deps,
    await jobsToLookUp(db, { cluster, controllers, unhandledPartitions: excludedPartitions(shares) }, now()),
    async (job) => {
      await checkRun(deps, options, job)
    },
  )
}

/** A job whose check fails does not stop the checks of other jobs; the next resync checks it again. */
async function forEachJob(
  { db, log }: ResyncDeps,
  jobs: readonly Job[],
  act: (job: Job) => Promise<void>,
): Promise<void> {
  for (const job of jobs) {
    try {
      await act(job)
    } catch (error) {
      log.warn({ workflowID: job.workflow_id, err: error }, 'run cannot be looked up; trying again')
      await lookUpAgain(db, job)
    }
  }
}

/** Ends runs of workers of the previous build that are still open (migrations/0006); their jobs continue here. */
async function endPreviousRun(
  { db, client, log, now }: ResyncDeps,
  { taskQueue }: TaskQueues,
  job: Job,
): Promise<void> {
  const workflowID = job.workflow_id
  const queue = (await findOpenRun(client, workflowID))?.taskQueue
  // Another worker may have been first and may have started the job again.
  const isPreviousBuild = queue?.startsWith(taskQueue) === false
  if (isPreviousBuild) await terminateRun(client, workflowID, 'workers of this build continue its job')
  log.info({ workflowID, queue }, 'a run of a previous build is terminated; its job continues')
  await recordLostJob(db, job, now())
}

async function checkRun(deps: ResyncDeps, options: TaskQueues, job: Job): Promise<void> {
  const { db, log, now } = deps
  if (!(await hasHealthyRun(deps, options, job))) await recordLostJob(db, job, now())
  else if (await wakeIfBehind(db, job, now()))
    log.info({ workflowID: job.workflow_id }, 'sweep woke a run that may have missed a change')
}

/** A workflow task with more attempts does not fail by chance. */
const MAX_ATTEMPTS = 3

/**
 * Whether an open run has the job. Terminates two kinds of runs: those on a queue that no worker polls, because flags were changed; and those whose workflow
 * task fails without a note in the journal (stuck-runs.ts), because a worker of an old build runs them, or their code throws before the first pass.
 */
async function hasHealthyRun({ db, client, log, now }: ResyncDeps, options: TaskQueues, job: Job): Promise<boolean> {
  const workflowID = job.workflow_id
  const run = await findOpenRun(client, workflowID)
  if (run === undefined) {
    log.info({ workflowID }, 'the run does not exist in Temporal any more')
    return false
  }
  const { runID, taskQueue, attempts } = run
  if (attempts > MAX_ATTEMPTS && !(await isRecordedStuck(db, { workflowID, runID }))) {
    log.warn({ workflowID, attempts }, 'the workflow task of a run fails; the run is restarted')
    await terminateRun(client, workflowID, `its workflow task failed ${attempts} times`, runID)
    return false
  }
  if (taskQueuesOf(options, job.controller).includes(taskQueue) || (await hasPollers(client, taskQueue, now())))
    return true
  log.warn({ workflowID, taskQueue }, 'no worker serves the task queue of a run; the run is restarted')
  await terminateRun(client, workflowID, `no worker serves the task queue ${taskQueue} any more`)
  return false
}

// Hand-over between two builds during a rollout. The old worker may process the wakes of a new worker's start with its old code. So a worker that stops wakes
// the objects of its controllers in level mode again if workers of another build are running. Source: docs/adr/0029.
//
//   H1. Temporal knows the pollers of a queue; the identity of a worker contains its build.
//   H2. A worker that is killed hands nothing over: other workers take its runs, and the remaining objects wait for their next change.

/** The identity of this process in Temporal (H1). */
export function identityOf(build: string): string {
  return `${process.pid}@${hostname()}/${build}`
}

/** Call it after this process has stopped taking work. @param build the build of this process. */
export async function handOver(
  deps: ResyncDeps,
  options: TaskQueues & { readonly cluster: string },
  build: string,
): Promise<void> {
  const { client, log, now, registry } = deps
  const names = (registry?.levels ?? []).map(({ name }) => name)
  const queues = names.flatMap((name) => taskQueuesOf(options, name))
  if (await isOtherBuildRunning({ client, now }, new Set(queues), build))
    await wakeLevelControllers(deps, options, 'a worker stopped')
  else log.debug('no worker of another build is running')
}

async function isOtherBuildRunning(
  { client, now }: { readonly client: Client; readonly now: () => Date },
  queues: ReadonlySet<string>,
  build: string,
): Promise<boolean> {
  for (const queue of queues) {
    const pollers = await recentPollers(client, queue, now())
    if (pollers.some((identity) => !identity.endsWith(`/${build}`))) return true
  }
  return false
}
