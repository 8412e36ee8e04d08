// The fields that only the DisruptionCron controller writes (docs/concepts/fields.md "One controller per field").

import { type OwnedFields, path } from '../../kit/index.ts'
import { DISRUPTION_CRON_NAME_LABEL, FINALIZER, SCHEDULED_AT_ANNOTATION } from '../contract.ts'

export const disruptionCronFields: OwnedFields = {
  controller: 'disruptionCron',
  fields: {
    DisruptionCron: [
      ['metadata', 'finalizers', FINALIZER],
      path('status.lastScheduleTime'),
      path('status.lastSkippedTime'),
      path('status.lastSkippedReason'),
      path('status.nextScheduleTime'),
      path('status.pausedSince'),
      path('status.observedGeneration'),
      path('status.observedSchedule'),
      path('status.scheduleEditedTime'),
      path('status.targetResourcePreviouslyMissing'),
      path('status.history'),
    ],
    // Fields of the child. The annotations that are copied from the parent belong to the parent's author.
    Disruption: [
      path('metadata.ownerReferences'),
      path('spec'),
      ['metadata', 'labels', DISRUPTION_CRON_NAME_LABEL],
      ['metadata', 'annotations', SCHEDULED_AT_ANNOTATION],
    ],
  },
  makes: [],
}
