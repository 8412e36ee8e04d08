// Registers the controller of Installations with the engine.

import { OPERATION_ANNOTATION, RECONCILE_IF_CHANGED_ANNOTATION, STEERED_INSTALLATION } from '../contract.ts'
import { annotation, type JobModeController, path } from '../../kit/index.ts'
import { installationQueries } from './controller.gen.ts'
import { previewInstallation } from './preview.ts'
import { installationFields } from './fields.ts'
import { flowOf, installationKind } from './kind.ts'
import { installationInputs } from './inputs.ts'
import { installationRoutes, installationRun } from './routes.ts'
import { installationPlan } from './plan.ts'
import { jobStatus } from '../job-status.ts'
import { PAUSE_TRIGGERS } from '../pause.ts'

export const installationController: JobModeController = {
  name: 'installation',
  mode: 'job',
  target: installationKind,
  watches: [installationKind],
  routes: installationRoutes,
  queries: installationQueries,
  status: jobStatus,
  requestedRun: installationRun,
  plan: installationPlan,
  triggers: [
    { path: annotation(OPERATION_ANNOTATION) },
    { path: annotation(RECONCILE_IF_CHANGED_ANNOTATION), when: 'edited' },
    { path: path('spec.automaticReconcile') },
    { path: path('status.dependentsToTrigger') },
    ...PAUSE_TRIGGERS,
  ],
  fields: installationFields,
  dryRun: previewInstallation,
  steering: { ...STEERED_INSTALLATION, parent: installationKind },
  siblings: { flow: flowOf },
  inputs: installationInputs,
}
