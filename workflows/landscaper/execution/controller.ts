// Registers the controller of Executions with the engine.

import type { JobModeController } from '../../kit/index.ts'
import { STEERED_EXECUTION } from '../contract.ts'
import { dataObjectKind } from '../data-object/kind.ts'
import { executionQueries } from './controller.gen.ts'
import { previewExecution } from './preview.ts'
import { executionFields } from './fields.ts'
import { executionKind } from './kind.ts'
import { executionRoutes, executionRun } from './routes.ts'
import { executionPlan } from './plan.ts'
import { jobStatus } from '../job-status.ts'
import { PAUSE_TRIGGERS } from '../pause.ts'
import { LACKS_FINALIZER } from '../runs-without-parent.ts'

export const executionController: JobModeController = {
  name: 'execution',
  mode: 'job',
  target: executionKind,
  hostedBy: ['installation'],
  // The bridge follows DataObjects for the read model; their events wake no run.
  watches: [executionKind, dataObjectKind],
  routes: executionRoutes,
  queries: executionQueries,
  status: jobStatus,
  requestedRun: executionRun,
  plan: executionPlan,
  triggers: [LACKS_FINALIZER, ...PAUSE_TRIGGERS],
  fields: executionFields,
  dryRun: previewExecution,
  steering: STEERED_EXECUTION,
}
