// The controllers that the bridge and the worker run: `--controllers examples/cronjob/controllers.ts`.

import { defineLevel } from 'pawl/kit'

import { cronJobControllerManagerQueries } from './cron-job.gen.ts'
import { cronJobKind } from './kind.ts'
import { cronJobPlan } from './plan.ts'

export const cronJobController = defineLevel({
  name: 'cronJob',
  target: cronJobKind,
  queries: cronJobControllerManagerQueries,
  plan: cronJobPlan,
  writes: ['batch/v1/Job'],
})

export const controllers = [cronJobController]
