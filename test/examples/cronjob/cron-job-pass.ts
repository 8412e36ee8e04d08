// A pass over a CronJob without servers: what was observed is given, what is written is kept.

import { type LevelPass, type Outcome, type Runtime, runStep } from 'pawl/kit'
import type { Job } from 'pawl/kit/batch/v1'

import type { CronJobControllerManagerState } from '../../../examples/cronjob/cron-job.gen.ts'
import type { CronJob } from '../../../examples/cronjob/kind.ts'
import { cronJobPlan } from '../../../examples/cronjob/plan.ts'

/** The object of all tests was made then. */
const CREATED = '2026-03-01T10:00:00Z'

export interface Course {
  readonly outcome: Outcome
  /** What was written, in order: `apply NAME`, `remove NAME`. */
  readonly written: readonly string[]
  /** The fields of the status that the pass has set. */
  readonly status: Readonly<Record<string, unknown>>
  /** The Jobs that are there afterwards. */
  readonly jobs: readonly Job[]
}

export async function passOver(target: CronJob, observed: readonly Job[] = []): Promise<Course> {
  const written: string[] = []
  let jobs = observed
  const pass: LevelPass<CronJobControllerManagerState, CronJob> = {
    subject: { kind: 'CronJob', uid: 'u', namespace: 'default', name: target.metadata.name },
    by: { workflowID: 'w', runID: 'r', pass: 1 },
    target,
    state: { jobs },
    refresh: () => Promise.resolve(jobs),
    act: {
      apply: ({ metadata }) => {
        written.push(`apply ${metadata.name}`)
        jobs = [...jobs, job(metadata.name)]
        return Promise.resolve()
      },
      remove: ({ metadata }) => {
        written.push(`remove ${metadata.name}`)
        jobs = jobs.filter(({ metadata: { uid } }) => uid !== metadata.uid)
        return Promise.resolve()
      },
    },
    call: () => {
      throw new Error('it has no activities of its own')
    },
    now: new Date(),
    log: console,
    status: {},
  }
  const outcome = await runStep(cronJobPlan, pass, runtime)
  return { outcome, written, status: pass.status, jobs }
}

export function cronJob(spec: Partial<CronJob['spec']> = {}, status?: CronJob['status']): CronJob {
  return {
    apiVersion: 'batch.example.pawl.dev/v1',
    kind: 'CronJob',
    metadata: metadata('report'),
    spec: { schedule: '0 * * * *', jobTemplate: { spec: { template: {} } }, ...spec },
    ...(status === undefined ? {} : { status }),
  }
}

export function job(name: string, status: Job['status'] = {}): Job {
  return { apiVersion: 'batch/v1', kind: 'Job', metadata: metadata(name), status }
}

/** A Job that ended at this time. */
export function ended(ending: 'Complete' | 'Failed', name: string, at: string): Job {
  const success = ending === 'Complete' ? { completionTime: at } : {}
  return job(name, { startTime: at, conditions: [{ type: ending, status: 'True' }], ...success })
}

function metadata(name: string): CronJob['metadata'] {
  const version = { resourceVersion: '1', generation: 1, creationTimestamp: CREATED }
  return { name, namespace: 'default', uid: `uid-${name}`, ...version }
}

const runtime: Runtime = {
  sleep: () => Promise.resolve(),
  withTimeout: (_ms, body) => body(),
  toOutcome: () => undefined,
}
