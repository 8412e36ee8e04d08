// What Pawl's deployers write, and nobody else (docs/concepts.md "One controller per field"). What a manifest item applies is not ours to
// declare: its fields are those of the manifest, and its field manager is `pawl-manifest`.

import { FINALIZER, HELD_SECRET_ANNOTATION, IN_USE_FINALIZER, OPERATION_ANNOTATION } from '../contract.ts'
import { annotation, type OwnedFields, path } from '../../kit/index.ts'

export const deployFields: OwnedFields = {
  controller: 'deploy',
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
  // The exports of an item.
  makes: ['Secret'],
}
