// The controllers that the bridge and the worker run: `--controllers examples/app/controllers.ts`.

import { defineLevel } from 'pawl/kit'

import { announcements } from './announce.ts'
import { appQueries } from './app.gen.ts'
import { appKind } from './kind.ts'
import { appPlan } from './plan.ts'

export const appController = defineLevel({
  name: 'app',
  target: appKind,
  queries: appQueries,
  plan: appPlan,
  activities: announcements,
  writes: ['v1/ConfigMap', 'v1/Service', 'apps/v1/Deployment'],
})

export const controllers = [appController]
