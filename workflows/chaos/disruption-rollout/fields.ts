// What the controller of DisruptionRollouts writes, and nobody else (docs/concepts.md "One controller per field").

import { type OwnedFields, path } from '../../kit/index.ts'
import { FINALIZER } from '../contract.ts'

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
      path('status.targetResourcePreviouslyMissing'),
    ],
  },
  makes: ['Disruption'],
}
