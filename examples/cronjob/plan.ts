// The workflow of the RFC with two fixes: the status is updated, and a Job is started unless the
// object is suspended. Source: seeds/ctrlkit-rfc.txt "Controller".

import { always, checkedPlan, join, when } from 'pawl/kit'

import { cleanUpOldJobsExceedsHistoryLimits } from './clean-up-old-jobs-exceeds-history-limits.ts'
import { type CronJobControllerManagerPass, cronJobControllerManagerSteps } from './cron-job.gen.ts'
import { listActiveJobsAndUpdateStatus } from './list-active-jobs-and-update-status.ts'
import { runNextScheduledJob } from './run-next-scheduled-job.ts'
import { updateCronJobStatus } from './update-cron-job-status.ts'

const step = cronJobControllerManagerSteps({
  listActiveJobsAndUpdateStatus,
  cleanUpOldJobsExceedsHistoryLimits,
  runNextScheduledJob,
  updateCronJobStatus,
})

const mayStart = ({ target }: CronJobControllerManagerPass) =>
  target.spec.suspend !== true && target.metadata.deletionTimestamp === undefined

/** What a pass over a CronJob does. */
export const cronJobPlan = checkedPlan(
  always(
    // In any order.
    join(
      step.listActiveJobsAndUpdateStatus,
      step.cleanUpOldJobsExceedsHistoryLimits,
      when(mayStart, step.runNextScheduledJob),
    ),
    step.updateCronJobStatus,
  ),
)
