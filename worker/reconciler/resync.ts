// Looks for what no event will wake: at start, every minute, and when a clock was set. Source: docs/architecture.md "Journal" (sweep).

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
import { followedBy } from './resolve-wake.ts'
import { isServed, openRunOf, pollersOf, terminateStranded } from './runs.ts'
import { leftLanes, type Queues, queuesOf } from './task-queues.ts'
import { pause } from '../server/backoff.ts'
import type { Logger } from '../server/log.ts'
import { builtIn, type Registry } from '../server/registry.ts'
import { groupKindOf, type LevelController } from '../../workflows/kit/index.ts'

export interface SweeperOptions extends Queues {
  readonly cluster: string
  readonly everyMs: number
}

export interface SweeperDeps {
  readonly db: Kysely<Database>
  readonly client: Client
  readonly log: Logger
  readonly now: () => Date
  /** Default: Pawl's own controllers. */
  readonly registry?: Registry
  /** Calls when a clock was set: what is due by it may be due at once, or not for long. Absent: nobody tells. */
  readonly onClockSet?: (listener: () => void) => void
}

/** Sweeps until the signal is aborted. An error ends one sweep, not the next; and what cannot be woken at the start keeps nothing else from it. */
export async function runSweeper(deps: SweeperDeps, options: SweeperOptions, signal: AbortSignal): Promise<void> {
  const levels = levelsOf(deps, options)
  const unwoken = new Map(levels.map((level) => [level, 'a worker started']))
  let resting = new AbortController()
  deps.onClockSet?.(() => {
    for (const level of levels) unwoken.set(level, 'a clock was set')
    resting.abort()
  })
  while (!signal.aborted) {
    resting = new AbortController()
    // Of what stands there now: what could not be woken is put there again.
    for (const [level, cause] of [...unwoken])
      await attempt(deps, { controller: level.name }, async () => {
        // Before, since a clock may be set meanwhile.
        unwoken.delete(level)
        await wakeLevel(deps, options, level, cause).catch((error: unknown) => {
          unwoken.set(level, cause)
          throw error
        })
      })
    await attempt(deps, {}, async () => await sweepOnce(deps, options))
    const until = AbortSignal.any([signal, resting.signal])
    await pause(options.everyMs, until)
  }
}

async function attempt({ log }: SweeperDeps, subject: object, act: () => Promise<void>): Promise<void> {
  try {
    await act()
  } catch (error) {
    log.warn({ ...subject, err: error }, 'sweep failed; trying again')
  }
}

type Served = Pick<SweeperOptions, 'cluster' | 'controllers'>

function levelsOf({ registry = builtIn }: SweeperDeps, { controllers }: Served): readonly LevelController[] {
  return registry.levels.filter(({ name }) => controllers?.includes(name) !== false)
}

/** What a controller in level mode does may be new: its objects are looked at once by every worker that starts. */
export async function wakeLevels(deps: SweeperDeps, options: Served, cause: string): Promise<void> {
  for (const level of levelsOf(deps, options)) await wakeLevel(deps, options, level, cause)
}

async function wakeLevel(
  { db, log, now }: SweeperDeps,
  { cluster }: Served,
  { name, target, predicate }: LevelController,
  cause: string,
): Promise<void> {
  const woken = await wakeSubjects(db, { cluster, controller: name, ...groupKindOf(target), cause, predicate }, now())
  if (woken > 0) log.info({ controller: name, woken, cause }, 'the objects of a controller are woken')
}

/** One sweep, of the controllers that this process runs. Runs that it could not start again are left to those who can. */
export async function sweepOnce(deps: SweeperDeps, options: Omit<SweeperOptions, 'everyMs'>): Promise<void> {
  const { db, log, now, registry = builtIn } = deps
  const { cluster, controllers = [...registry.controllers.keys()], shares = [] } = options
  // What runs in level mode is woken by events, and by every worker that starts.
  const swept = [...registry.controllers.values()].filter(
    ({ name, mode }) => mode !== 'level' && controllers.includes(name),
  )
  const woken = await resyncWakes(db, {
    cluster,
    now: now(),
    controllers: swept,
    subjectKinds: registry.subjectKinds,
    watchedKinds: followedBy(registry),
  })
  if (woken > 0) log.info({ woken }, 'sweep woke subjects without a run')
  await each(deps, await jobsOfFormerBuilds(db, { cluster, controllers }), async (job) => {
    await endFormer(deps, options, job)
  })
  await each(
    deps,
    await jobsToLookUp(db, { cluster, controllers, unhandledPartitions: leftLanes(shares) }, now()),
    async (job) => {
      await lookUp(deps, options, job)
    },
  )
}

/** The others are looked up all the same when one cannot be; that one as soon as a sweep comes round again. */
async function each({ db, log }: SweeperDeps, jobs: readonly Job[], look: (job: Job) => Promise<void>): Promise<void> {
  for (const job of jobs) {
    try {
      await look(job)
    } catch (error) {
      log.warn({ workflowID: job.workflow_id, err: error }, 'run cannot be looked up; trying again')
      await lookUpAgain(db, job)
    }
  }
}

/** Runs of workers of the build before, which may live on (migrations/0006): their jobs go on here. */
async function endFormer({ db, client, log, now }: SweeperDeps, { taskQueue }: Queues, job: Job): Promise<void> {
  const workflowID = job.workflow_id
  const queue = (await openRunOf(client, workflowID))?.taskQueue
  // Another sweeper may have been first, and the job begun anew.
  const isFormer = queue?.startsWith(taskQueue) === false
  if (isFormer) await terminateStranded(client, workflowID, 'workers of this build go on with its job')
  log.info({ workflowID, queue }, 'run of a former worker is ended; its job goes on')
  await recordLostJob(db, job, now())
}

async function lookUp(deps: SweeperDeps, options: Queues, job: Job): Promise<void> {
  const { db, log, now } = deps
  if (!(await isAtWork(deps, options, job))) await recordLostJob(db, job, now())
  else if (await wakeIfBehind(db, job, now()))
    log.info({ workflowID: job.workflow_id }, 'sweep woke a run that may have missed a change')
}

/** A task that was tried more often does not fail by chance. */
const MOST_TRIES = 3

/**
 * Whether an open run has the job. One on a queue that no worker asks any more (its flags were changed) is ended here, and so is one whose task fails
 * where nobody could note it (stuck-runs.ts): a former worker, or a code that throws before its first pass.
 */
async function isAtWork({ db, client, log, now }: SweeperDeps, options: Queues, job: Job): Promise<boolean> {
  const workflowID = job.workflow_id
  const run = await openRunOf(client, workflowID)
  if (run === undefined) {
    log.info({ workflowID }, 'run is not in Temporal any more')
    return false
  }
  const { runID, taskQueue, tries } = run
  if (tries > MOST_TRIES && !(await isRecordedStuck(db, { workflowID, runID }))) {
    log.warn({ workflowID, tries }, 'the workflow task of a run fails; it is started again')
    await terminateStranded(client, workflowID, `its workflow task was tried ${tries} times`, runID)
    return false
  }
  if (queuesOf(options, job.controller).includes(taskQueue) || (await isServed(client, taskQueue, now()))) return true
  log.warn({ workflowID, taskQueue }, 'no worker serves the task queue of a run; it is started again')
  await terminateStranded(client, workflowID, `no worker serves the task queue ${taskQueue} any more`)
  return false
}

// Workers of two builds beside each other, as in a roll-out: what the new one wakes at its start may be looked at by the old one, which does as it always
// did. So a worker that stops wakes the objects of its controllers in level mode once more, when workers of another build stay behind. Source: docs/adr/0029.
//
//   H1. Temporal knows who asks a queue for work; a worker says there of which build it is.
//   H2. A worker that is killed hands over nothing: what it was at work on comes to others anyway, the rest at the next change.

/** The name of this process in Temporal (H1). */
export function identityOf(build: string): string {
  return `${process.pid}@${hostname()}/${build}`
}

/** To be called when this process takes no work any more. @param build its own. */
export async function handOver(
  deps: SweeperDeps,
  options: Queues & { readonly cluster: string },
  build: string,
): Promise<void> {
  const { client, log, now, registry } = deps
  const names = (registry?.levels ?? []).map(({ name }) => name)
  const queues = names.flatMap((name) => queuesOf(options, name))
  if (await isOtherBuildThere({ client, now }, new Set(queues), build))
    await wakeLevels(deps, options, 'a worker stopped')
  else log.debug('no worker of another build is there')
}

async function isOtherBuildThere(
  { client, now }: { readonly client: Client; readonly now: () => Date },
  queues: ReadonlySet<string>,
  build: string,
): Promise<boolean> {
  for (const queue of queues) {
    const pollers = await pollersOf(client, queue, now())
    if (pollers.some((identity) => !identity.endsWith(`/${build}`))) return true
  }
  return false
}
