// Deletes the oldest finished Jobs that exceed the history limits.

import { done, type Outcome } from 'pawl/kit'
import type { Job } from 'pawl/kit/batch/v1'

import type { CronJobControllerManagerPass } from './cron-job.gen.ts'
import { endingOf } from './job.ts'

// Source: k8s.io/kubernetes v1.34 pkg/apis/batch/v1/defaults.go (SetDefaults_CronJob).
const SUCCESSFUL_LIMIT = 3
const FAILED_LIMIT = 1

export async function cleanUpOldJobsExceedsHistoryLimits(
  { target: { spec }, act }: CronJobControllerManagerPass,
  jobs: readonly Job[],
): Promise<Outcome> {
  const old = [
    ...beyond(
      spec.successfulJobsHistoryLimit ?? SUCCESSFUL_LIMIT,
      jobs.filter((job) => endingOf(job) === 'Complete'),
    ),
    ...beyond(
      spec.failedJobsHistoryLimit ?? FAILED_LIMIT,
      jobs.filter((job) => endingOf(job) === 'Failed'),
    ),
  ]
  for (const job of old) if (job.metadata.deletionTimestamp === undefined) await act.remove(job)
  return done
}

/** All but the newest `limit`. */
function beyond(limit: number, jobs: readonly Job[]): readonly Job[] {
  const newestFirst = jobs.toSorted((left, right) => (beginOf(left) < beginOf(right) ? 1 : -1))
  return newestFirst.slice(limit)
}

// The name decides between two Jobs that began in the same second.
function beginOf({ metadata, status }: Job): string {
  return `${status?.startTime ?? metadata.creationTimestamp} ${metadata.name}`
}
