// Looks for what no event will wake: at start and every minute. Source: design.md "Journal" (sweep).

import type { Client } from '@temporalio/client'
import type { Kysely } from 'kysely'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Database } from '../../activities/journal/database.ts'
import {
  jobsToLookUp,
  recordLostJob,
  type SweptKind,
  sweepWakes,
  wakeIfBehind,
} from '../../activities/journal/sweep.ts'
import { BUILT_IN_TYPES } from '../../workflows/deploy-item/kind.ts'
import { watchedKinds } from '../controllers.ts'
import type { Logger } from '../log.ts'
import { isRunning } from './runs.ts'

export interface SweeperOptions {
  readonly cluster: string
  readonly everyMs: number
}

export interface SweeperDeps {
  readonly db: Kysely<Database>
  readonly client: Client
  readonly log: Logger
  readonly now: () => Date
}

const SWEPT: readonly SweptKind[] = [
  { kind: 'Installation', controller: 'installation', run: 'own', annotated: true },
  { kind: 'Execution', controller: 'execution', run: 'own', annotated: false },
  { kind: 'DeployItem', controller: 'deploy', run: { groupOfTypes: [...BUILT_IN_TYPES] }, annotated: false },
]

const WATCHED = watchedKinds.map(({ kind }) => kind)

/** Sweeps until the signal is aborted. An error ends one sweep, not the next. */
export async function runSweeper(deps: SweeperDeps, options: SweeperOptions, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    try {
      await sweepOnce(deps, options)
    } catch (error) {
      deps.log.warn({ err: error }, 'sweep failed; trying again')
    }
    await sleep(options.everyMs, undefined, { signal }).catch(() => undefined)
  }
}

async function sweepOnce({ db, client, log, now }: SweeperDeps, { cluster }: SweeperOptions): Promise<void> {
  const woken = await sweepWakes(db, { cluster, now: now(), jobKinds: SWEPT, watchedKinds: WATCHED })
  if (woken > 0) log.info({ woken }, 'sweep woke subjects without a run')
  for (const job of await jobsToLookUp(db, cluster, now())) {
    const isGroup = job.controller === 'deploy' && job.job_id !== ''
    if (await isRunning(client, job.workflow_id)) {
      const isBehind = await wakeIfBehind(db, job, now(), isGroup)
      if (isBehind) log.info({ workflowID: job.workflow_id }, 'sweep woke a run that may have missed a change')
      continue
    }
    log.info({ workflowID: job.workflow_id }, 'run is not in Temporal any more')
    await recordLostJob(db, job, now(), isGroup)
  }
}
