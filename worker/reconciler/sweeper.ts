// Looks for what no event will wake: at start and every minute. Source: docs/architecture.md "Journal" (sweep).

import type { Client } from '@temporalio/client'
import type { Kysely } from 'kysely'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Database } from '../../activities/journal/database.ts'
import type { Job } from '../../activities/journal/write/jobs.ts'
import { wakeSubjects } from '../../activities/journal/write/level-runs.ts'
import {
  jobsToLookUp,
  lookUpAgain,
  recordLostJob,
  sweepWakes,
  wakeIfBehind,
} from '../../activities/journal/write/sweep.ts'
import { groupKindOf } from '../../workflows/kit/index.ts'
import { builtIn, type Registry } from '../server/registry.ts'
import type { Logger } from '../server/log.ts'
import { followedBy } from './resolve.ts'
import { isServed, queueOf, queueOfOpenRun, type RunOptions, terminateStranded } from './runs.ts'

type SweptQueues = Pick<RunOptions, 'taskQueue' | 'controllers'>

export interface SweeperOptions extends SweptQueues {
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
}

/** Sweeps until the signal is aborted. An error ends one sweep, not the next. */
export async function runSweeper(deps: SweeperDeps, options: SweeperOptions, signal: AbortSignal): Promise<void> {
  let isWoken = false
  while (!signal.aborted) {
    try {
      if (!isWoken) await wakeLevels(deps, options)
      isWoken = true
      await sweepOnce(deps, options)
    } catch (error) {
      deps.log.warn({ err: error }, 'sweep failed; trying again')
    }
    await sleep(options.everyMs, undefined, { signal }).catch(() => undefined)
  }
}

/** What a controller in level mode does may be new: its objects are looked at once by every worker that starts. */
async function wakeLevels({ db, log, now, registry = builtIn }: SweeperDeps, options: SweeperOptions): Promise<void> {
  const { cluster, controllers } = options
  for (const { name, target } of registry.levels) {
    if (controllers?.includes(name) === false) continue
    const woken = await wakeSubjects(db, { cluster, controller: name, ...groupKindOf(target) }, now())
    if (woken > 0) log.info({ controller: name, woken }, 'start woke the objects of a controller')
  }
}

/** One sweep, of the controllers that this process runs. */
export async function sweepOnce(deps: SweeperDeps, options: Omit<SweeperOptions, 'everyMs'>): Promise<void> {
  const { db, log, now, registry = builtIn } = deps
  const { cluster, controllers = [...registry.controllers.keys()] } = options
  // What runs in level mode is woken by events, and by every worker that starts.
  const swept = [...registry.controllers.values()].filter(
    ({ name, mode }) => mode !== 'level' && controllers.includes(name),
  )
  const woken = await sweepWakes(db, { cluster, now: now(), controllers: swept, watchedKinds: followedBy(registry) })
  if (woken > 0) log.info({ woken }, 'sweep woke subjects without a run')
  for (const job of await jobsToLookUp(db, { cluster, controllers }, now())) {
    try {
      await lookUp(deps, options, job)
    } catch (error) {
      // The others are looked up all the same; this one as soon as a sweep comes round again.
      log.warn({ workflowID: job.workflow_id, err: error }, 'run cannot be looked up; trying again')
      await lookUpAgain(db, job)
    }
  }
}

async function lookUp(deps: SweeperDeps, options: SweptQueues, job: Job): Promise<void> {
  const { db, log, now } = deps
  if (!(await isAtWork(deps, options, job))) await recordLostJob(db, job, now())
  else if (await wakeIfBehind(db, job, now()))
    log.info({ workflowID: job.workflow_id }, 'sweep woke a run that may have missed a change')
}

/** Whether an open run has the job. One on a queue that no worker asks any more (its --only or --task-queue was changed) is ended here. */
async function isAtWork({ client, log, now }: SweeperDeps, options: SweptQueues, job: Job): Promise<boolean> {
  const workflowID = job.workflow_id
  const taskQueue = await queueOfOpenRun(client, workflowID)
  if (taskQueue === undefined) {
    log.info({ workflowID }, 'run is not in Temporal any more')
    return false
  }
  if (taskQueue === queueOf(options, job.controller) || (await isServed(client, taskQueue, now()))) return true
  log.warn({ workflowID, taskQueue }, 'no worker serves the task queue of a run; it is started again')
  await terminateStranded(client, workflowID, taskQueue)
  return false
}
