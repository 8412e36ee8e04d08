// What the engine knows of the deployers' controller: the items of one Execution and job are a group.

import { type JobModeController, path, textAt } from '../../kit/index.ts'
import { executionKind } from '../execution/kind.ts'
import { BUILT_IN_TYPES } from './deployers.gen.ts'
import { deployGroupQueries } from './controller.gen.ts'
import { deployFields } from './fields.ts'
import { deployItemKind } from './kind.ts'
import { deployItemRun, deployRoutes } from './routes.ts'
import { deployPlan } from './plan.ts'
import { jobStatus } from '../job-status.ts'

export const deployController: JobModeController = {
  name: 'deploy',
  mode: 'group',
  target: deployItemKind,
  hostedBy: ['execution', 'installation'],
  watches: [deployItemKind],
  routes: deployRoutes,
  queries: deployGroupQueries,
  status: jobStatus,
  wantedRun: deployItemRun,
  plan: deployPlan,
  triggers: [],
  group: {
    owner: executionKind,
    serves: (item) => BUILT_IN_TYPES.has(textAt(item, path('spec.type')) ?? ''),
    shownAs: 'DeployGroup',
    summary: 'Deploy items of',
  },
  fields: deployFields,
}
