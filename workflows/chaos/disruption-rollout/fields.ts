// The fields that only the DisruptionRollout controller writes (docs/concepts/fields.md "One controller per field").

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
    // Fields of the child. The annotations that are copied from the parent belong to the parent's author.
    Disruption: [
      path('metadata.ownerReferences'),
      path('spec'),
      ['metadata', 'labels', DISRUPTION_ROLLOUT_NAME_LABEL],
      ['metadata', 'annotations', SCHEDULED_AT_ANNOTATION],
    ],
  },
  makes: [],
}
