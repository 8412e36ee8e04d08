// Reports in the status which Jobs are active, and when a Job last succeeded.

import { done, type Outcome } from 'pawl/kit'
import type { Job } from 'pawl/kit/batch/v1'

import type { CronJobControllerManagerPass } from './cron-job.gen.ts'
import { endingOf, isActive, referenceTo } from './job.ts'

export function listActiveJobsAndUpdateStatus(
  { target, status }: CronJobControllerManagerPass,
  jobs: readonly Job[],
): Promise<Outcome> {
  status['active'] = jobs.filter(isActive).map(referenceTo)

  const known = target.status?.lastSuccessfulTime
  const completed = jobs.filter((job) => endingOf(job) === 'Complete').map((job) => job.status?.completionTime)
  const latest = [known, ...completed]
    .filter((time) => time !== undefined)
    .sort()
    .at(-1)
  if (latest !== undefined) status['lastSuccessfulTime'] = latest
  return Promise.resolve(done)
}
