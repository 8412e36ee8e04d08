// The CronJob example with a step more, which looks once more before all others, and with a query more.

import { action, defineLevel, done, sequential } from 'pawl/kit'

import {
  type CronJobControllerManagerPass,
  cronJobControllerManagerQueries,
} from '../../../examples/cronjob/cron-job.gen.ts'
import { cronJobKind } from '../../../examples/cronjob/kind.ts'
import { cronJobPlan } from '../../../examples/cronjob/plan.ts'

const lookAgain = action<CronJobControllerManagerPass>('lookAgain', async (pass) => {
  await pass.refresh('jobs')
  return done
})

const queries = { ...cronJobControllerManagerQueries, others: { kind: 'batch/v1/Job', many: true } } as const

export const controllers = [
  defineLevel({ name: 'cronJob', target: cronJobKind, queries, plan: sequential(lookAgain, cronJobPlan) }),
]
