// Passes over a CronJob of one hour of a day long ago, and the Jobs that it finds.

import type { Job } from 'pawl/kit/batch/v1'
import { type PassCourse, runPass, stored } from 'pawl/kit/testing'

import { cronJobController } from '../../../examples/cronjob/controllers.ts'
import type { CronJobControllerManagerState } from '../../../examples/cronjob/cron-job.gen.ts'
import type { CronJob } from '../../../examples/cronjob/kind.ts'

/** The object of all tests was made then. */
const creationTimestamp = '2026-03-01T10:00:00Z'

export async function passOver(
  target: CronJob,
  jobs: readonly Job[] = [],
): Promise<PassCourse<CronJobControllerManagerState, CronJob>> {
  return await runPass(cronJobController, { target, state: { jobs } })
}

export function cronJob(spec: Partial<CronJob['spec']> = {}, status?: CronJob['status']): CronJob {
  return stored<CronJob>({
    apiVersion: 'batch.example.pawl.dev/v1',
    kind: 'CronJob',
    metadata: { name: 'report', creationTimestamp },
    spec: { schedule: '0 * * * *', jobTemplate: { spec: { template: {} } }, ...spec },
    ...(status === undefined ? {} : { status }),
  })
}

export function job(name: string, status: Job['status'] = {}): Job {
  return stored<Job>({ apiVersion: 'batch/v1', kind: 'Job', metadata: { name, creationTimestamp }, status })
}

/** A Job that ended at this time. */
export function ended(ending: 'Complete' | 'Failed', name: string, at: string): Job {
  const success = ending === 'Complete' ? { completionTime: at } : {}
  return job(name, { startTime: at, conditions: [{ type: ending, status: 'True' }], ...success })
}
