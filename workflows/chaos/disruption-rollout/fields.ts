// What the controller of DisruptionRollouts writes, and nobody else (docs/concepts.md "One controller per field").

import { type OwnedFields, path } from '../../kit/index.ts'
import { DISRUPTION_ROLLOUT_NAME_LABEL, FINALIZER, SCHEDULED_AT_ANNOTATION } from '../contract.ts'

export const disruptionRolloutFields: OwnedFields = {
  controller: 'disruptionRollout',
  fields: {
    DisruptionRollout: [
      ['metadata', 'finalizers', FINALIZER],
      path('status.latestInitContainersHash'),
      path('status.latestContainersHash'),
      path('status.latestTargetResource'),
      path('status.lastContainerChangeTime'),
      path('status.lastScheduleTime'),
      path('status.lastSkippedTime'),
      path('status.targetResourcePreviouslyMissing'),
    ],
    // Of the one that it makes; what it copies of its own annotations is whatever its author has put there.
    Disruption: [
      path('metadata.ownerReferences'),
      path('spec'),
      ['metadata', 'labels', DISRUPTION_ROLLOUT_NAME_LABEL],
      ['metadata', 'annotations', SCHEDULED_AT_ANNOTATION],
    ],
  },
  makes: [],
}
