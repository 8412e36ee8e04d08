// Declares the fields that only the controller of TargetSyncs writes (docs/concepts/fields.md "One controller per field").

import { type OwnedFields, path } from '../../kit/index.ts'
import { FINALIZER, OPERATION_ANNOTATION, ROTATE_TOKEN_ANNOTATION } from '../contract.ts'

export const targetSyncFields: OwnedFields = {
  controller: 'targetSync',
  fields: {
    TargetSync: [
      ['metadata', 'finalizers', FINALIZER],
      // Removed after the request has been carried out.
      ['metadata', 'annotations', OPERATION_ANNOTATION],
      ['metadata', 'annotations', ROTATE_TOKEN_ANNOTATION],
      path('status.lastErrors'),
      path('status.observedGeneration'),
      path('status.lastUpdateTime'),
      path('status.lastTokenRotationTime'),
    ],
  },
  // Copies of the Secrets and Shoots of the source cluster.
  makes: ['Target', 'Secret'],
}
