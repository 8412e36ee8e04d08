// What the controller of DisruptionCrons writes, and nobody else (docs/concepts.md "One controller per field").

import { type OwnedFields, path } from '../../kit/index.ts'
import { FINALIZER } from '../contract.ts'

export const disruptionCronFields: OwnedFields = {
  controller: 'disruptionCron',
  fields: {
    DisruptionCron: [
      ['metadata', 'finalizers', FINALIZER],
      path('status.lastScheduleTime'),
      path('status.lastSkippedTime'),
      path('status.observedGeneration'),
      path('status.targetResourcePreviouslyMissing'),
      path('status.history'),
    ],
  },
  makes: ['Disruption'],
}
