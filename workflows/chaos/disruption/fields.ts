// The fields that only the Disruption controller writes (docs/concepts/fields.md "One controller per field").

import { type OwnedFields, path } from '../../kit/index.ts'
import { FINALIZER } from '../contract.ts'

export const disruptionFields: OwnedFields = {
  controller: 'disruption',
  fields: {
    Disruption: [
      ['metadata', 'finalizers', FINALIZER],
      path('status.specHash'),
      path('status.originalSpec'),
      path('status.chaosNamespace'),
      path('status.injectionStatus'),
      path('status.targets'),
      path('status.sparedNodes'),
      path('status.ignoredTargets'),
      path('status.targetInjections'),
      path('status.simulatedTargetsCount'),
      path('status.message'),
      path('status.targetStates'),
      path('status.selectedTargetsCount'),
      path('status.ignoredTargetsCount'),
      path('status.injectedTargetsCount'),
      path('status.desiredTargetsCount'),
      path('status.runCount'),
      path('status.isStuckOnRemoval'),
      path('status.cleanedAt'),
    ],
  },
  // Chaos pods.
  makes: ['Pod'],
}
