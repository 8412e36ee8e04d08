// What the controller of TargetSyncs writes, and nobody else (docs/concepts.md "One controller per field").

import { type OwnedFields, path } from '../../kit/index.ts'
import { FINALIZER, OPERATION_ANNOTATION, ROTATE_TOKEN_ANNOTATION } from '../contract.ts'

export const targetSyncFields: OwnedFields = {
  controller: 'targetSync',
  fields: {
    TargetSync: [
      ['metadata', 'finalizers', FINALIZER],
      // Crossed out when what they ask for is done.
      ['metadata', 'annotations', OPERATION_ANNOTATION],
      ['metadata', 'annotations', ROTATE_TOKEN_ANNOTATION],
      path('status.lastErrors'),
      path('status.observedGeneration'),
      path('status.lastUpdateTime'),
      path('status.lastTokenRotationTime'),
    ],
  },
  // Of what lies at the source.
  makes: ['Target', 'Secret'],
}
