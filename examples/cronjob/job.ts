// Reads the state of a Job, and builds the Job of a scheduled time.

import type { WantedObject } from 'pawl/kit'
import type { Job } from 'pawl/kit/batch/v1'

import type { CronJob } from './kind.ts'

type Ending = 'Complete' | 'Failed'

/** The result of a Job; undefined while the Job is active. */
export function endingOf({ status }: Job): Ending | undefined {
  const has = (ending: Ending) =>
    status?.conditions?.some(({ type, status }) => type === ending && status === 'True') === true
  if (has('Complete')) return 'Complete'
  return has('Failed') ? 'Failed' : undefined
}

export function isActive(job: Job): boolean {
  return endingOf(job) === undefined
}

/** The reference to a Job in the status. */
export function referenceTo({ apiVersion, kind, metadata: { namespace, name, uid } }: Job) {
  return { apiVersion, kind, namespace, name, uid }
}

/** The name of the Job of a scheduled time. A repeated pass computes the same name, so it finds its Job. */
export function jobName({ metadata }: CronJob, at: Date): string {
  return `${metadata.name}-${Math.floor(at.getTime() / 60_000)}`
}

/** The Job of a scheduled time. cron-job.cm selects Jobs by its label. */
export function jobFor(cronJob: CronJob, at: Date): WantedObject {
  const { metadata, spec } = cronJob.spec.jobTemplate
  return {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: {
      name: jobName(cronJob, at),
      labels: { ...metadata?.labels, cronjob: cronJob.metadata.name },
      annotations: { ...metadata?.annotations, 'batch.kubernetes.io/cronjob-scheduled-timestamp': rfc3339(at) },
    },
    spec,
  }
}

/** A time in the format of Kubernetes: without fractions of a second. */
export function rfc3339(moment: Date): string {
  return moment.toISOString().replace(/\.\d+Z$/, 'Z')
}
