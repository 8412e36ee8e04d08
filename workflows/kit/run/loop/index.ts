// What a kind's workflow.ts takes of the kit beside its index: the runs, and the proxies of activities. Needs Temporal.

export { Hosting } from './host.ts'
export { runNotification } from './run-notification.ts'
export { runJob } from './run-job.ts'
export { runLevel } from './run-level.ts'
export { runSteps } from './run-job.ts'
export type { RunResult } from './loop.ts'
export { longActivities, shortActivities } from './temporal.ts'
export type { LongActivityOptions } from './temporal.ts'
