// Generated from cron-job.cm. Do not edit; run `npx pawl gen`.

import { action, type LevelPass, type Outcome, type StateQuery, type Step } from 'pawl/kit'
import type { CronJob } from './kind.ts'
import type { Job } from 'pawl/kit/batch/v1'

export interface CronJobControllerManagerState {
  readonly jobs: readonly Job[]
}

export const cronJobControllerManagerQueries = {
  jobs: {
    kind: 'batch/v1/Job',
    many: true,
    labels: { cronjob: '${target.metadata.name}' },
    controller: '${target.metadata.name}',
    owned: true,
  },
} as const satisfies Record<keyof CronJobControllerManagerState, StateQuery>

/** CronJobControllerManager declares all the actions needed by the CronJobController. */
export type CronJobControllerManagerPass = LevelPass<CronJobControllerManagerState, CronJob>

export interface CronJobControllerManagerActions {
  /** List all active jobs, and update the status. */
  listActiveJobsAndUpdateStatus(pass: CronJobControllerManagerPass, jobs: readonly Job[]): Promise<Outcome>
  /** Clean up old jobs according to the history limit. */
  cleanUpOldJobsExceedsHistoryLimits(pass: CronJobControllerManagerPass, jobs: readonly Job[]): Promise<Outcome>
  /**
   * Run the next job if it's on time, or otherwise we should wait
   * until the next scheduled time.
   */
  runNextScheduledJob(pass: CronJobControllerManagerPass): Promise<Outcome>
  /** Update status of CronJob. */
  updateCronJobStatus(pass: CronJobControllerManagerPass): Promise<Outcome>
}

export function cronJobControllerManagerSteps(
  actions: CronJobControllerManagerActions,
): Readonly<Record<keyof CronJobControllerManagerActions, Step<CronJobControllerManagerPass>>> {
  return {
    listActiveJobsAndUpdateStatus: action('listActiveJobsAndUpdateStatus', (pass) =>
      actions.listActiveJobsAndUpdateStatus(pass, pass.state.jobs),
    ),
    cleanUpOldJobsExceedsHistoryLimits: action('cleanUpOldJobsExceedsHistoryLimits', (pass) =>
      actions.cleanUpOldJobsExceedsHistoryLimits(pass, pass.state.jobs),
    ),
    runNextScheduledJob: action('runNextScheduledJob', (pass) => actions.runNextScheduledJob(pass)),
    updateCronJobStatus: action('updateCronJobStatus', (pass) => actions.updateCronJobStatus(pass)),
  }
}
