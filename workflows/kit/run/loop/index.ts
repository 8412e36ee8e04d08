// The part of the kit that needs Temporal, for workflow.ts files: runs and activity proxies.

export { Hosting } from './host.ts'
export { runNotification } from './run-notification.ts'
export { runJob } from './run-job.ts'
export { runLevel } from './run-level.ts'
export { runSteps } from './run-job.ts'
export type { RunResult } from './loop.ts'
export { longActivities, shortActivities } from './temporal.ts'
export type { LongActivityOptions } from './temporal.ts'
