// Declares the fields that only Pawl's deployers write (docs/concepts/fields.md "One controller per field"). The objects that a manifest item applies are not
// declared: their fields come from the manifest, and their field manager is `pawl-manifest`.

import {
  DEPLOY_CONTROLLER,
  FINALIZER,
  HELD_SECRET_ANNOTATION,
  IN_USE_FINALIZER,
  OPERATION_ANNOTATION,
} from '../contract.ts'
import { annotation, type OwnedFields, path } from '../../kit/index.ts'

export const deployFields: OwnedFields = {
  controller: DEPLOY_CONTROLLER,
  fields: {
    DeployItem: [
      ['metadata', 'finalizers', FINALIZER],
      annotation(OPERATION_ANNOTATION),
      path('status.jobID'),
      path('status.jobIDFinished'),
      path('status.jobIDGenerationTime'),
      path('status.observedGeneration'),
      path('status.phase'),
      path('status.conditions'),
      path('status.lastError'),
      path('status.lastErrors'),
      path('status.firstError'),
      path('status.lastReconcileTime'),
      path('status.deployer'),
      path('status.providerStatus'),
      path('status.exportRef'),
      path('status.transitionTimes'),
    ],
    Target: [['metadata', 'finalizers', IN_USE_FINALIZER], annotation(HELD_SECRET_ANNOTATION)],
    Secret: [['metadata', 'finalizers', IN_USE_FINALIZER]],
  },
  // The Secret with the exports of an item.
  makes: ['Secret'],
}
