// What of a Job matters to its CronJob, and the Job of a start.

import type { WantedObject } from 'pawl/kit'
import type { Job } from 'pawl/kit/batch/v1'

import type { CronJob } from './kind.ts'

type Ending = 'Complete' | 'Failed'

/** How the Job has ended; undefined while it is active. */
export function endingOf({ status }: Job): Ending | undefined {
  const has = (ending: Ending) =>
    status?.conditions?.some(({ type, status }) => type === ending && status === 'True') === true
  if (has('Complete')) return 'Complete'
  return has('Failed') ? 'Failed' : undefined
}

export function isActive(job: Job): boolean {
  return endingOf(job) === undefined
}

/** How a status refers to a Job. */
export function referenceTo({ apiVersion, kind, metadata: { namespace, name, uid } }: Job) {
  return { apiVersion, kind, namespace, name, uid }
}

/** The name of the Job of a start: always the same, so that a pass that is repeated finds its Job. */
export function jobName({ metadata }: CronJob, at: Date): string {
  return `${metadata.name}-${Math.floor(at.getTime() / 60_000)}`
}

/** The Job of a start. The label is the one by which cron-job.cm finds it. */
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

/** A point in time as Kubernetes writes it: without fractions of a second. */
export function rfc3339(moment: Date): string {
  return moment.toISOString().replace(/\.\d+Z$/, 'Z')
}
