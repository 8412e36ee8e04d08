// Registers the controller of DeployItems, `deploy`, with the engine. It runs items that no Execution hosts.

import { annotation, type JobModeController, label, path } from '../../kit/index.ts'
import {
  DEPENDS_ON_ANNOTATION,
  DEPLOY_CONTROLLER,
  ITEM_NAME_LABEL,
  OPERATION_ANNOTATION,
  STEERED_ITEM,
} from '../contract.ts'
import { LACKS_FINALIZER } from '../runs-without-parent.ts'
import { deployItemQueries } from './controller.gen.ts'
import { BUILT_IN_TYPES } from './deployers.gen.ts'
import { explainDeployItem } from './explain.ts'
import { deployFields } from './fields.ts'
import { deployItemKind } from './kind.ts'
import { deployItemRun, deployRoutes } from './routes.ts'
import { deployPlan } from './plan.ts'
import { jobStatus } from '../job-status.ts'

export const deployController: JobModeController = {
  name: DEPLOY_CONTROLLER,
  mode: 'job',
  target: deployItemKind,
  hostedBy: ['execution', 'installation'],
  partitions: { path: path('spec.type'), names: [...BUILT_IN_TYPES].sort(), flag: 'deployers' },
  watches: [deployItemKind],
  routes: deployRoutes,
  queries: deployItemQueries,
  status: jobStatus,
  requestedRun: deployItemRun,
  plan: deployPlan,
  triggers: [LACKS_FINALIZER, { path: annotation(OPERATION_ANNOTATION) }],
  fields: deployFields,
  steering: STEERED_ITEM,
  explain: explainDeployItem,
  siblings: { name: label(ITEM_NAME_LABEL), after: annotation(DEPENDS_ON_ANNOTATION) },
}
