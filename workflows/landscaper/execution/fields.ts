// Declares the fields that only the controller of Executions writes (docs/concepts/fields.md "One controller per field").

import { FINALIZER, OPERATION_ANNOTATION } from '../contract.ts'
import { annotation, type OwnedFields, path } from '../../kit/index.ts'

export const executionFields: OwnedFields = {
  controller: 'execution',
  fields: {
    Execution: [
      ['metadata', 'finalizers', FINALIZER],
      annotation(OPERATION_ANNOTATION),
      path('status.jobID'),
      path('status.jobIDFinished'),
      path('status.observedGeneration'),
      path('status.phase'),
      path('status.phaseTransitionTime'),
      path('status.conditions'),
      path('status.lastError'),
      path('status.exportRef'),
      path('status.deployItemCache'),
      path('status.transitionTimes'),
      path('status.paused'),
    ],
    DeployItem: [
      path('metadata.ownerReferences'),
      path('metadata.labels'),
      path('metadata.annotations'),
      ['metadata', 'finalizers', FINALIZER],
      path('spec'),
      path('status.jobID'),
      path('status.jobIDGenerationTime'),
      path('status.jobIDFinished'),
      path('status.observedGeneration'),
      path('status.phase'),
      path('status.conditions'),
      path('status.lastError'),
      path('status.lastErrors'),
      path('status.firstError'),
      path('status.transitionTimes'),
    ],
  },
  // The DataObject with the exports of all items.
  makes: ['DataObject'],
}
