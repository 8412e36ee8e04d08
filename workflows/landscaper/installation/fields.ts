// What the controller of Installations writes, and nobody else (docs/concepts.md "One controller per field").

import {
  CACHE_HELM_CHARTS_ANNOTATION,
  DELETE_WITHOUT_UNINSTALL_ANNOTATION,
  FINALIZER,
  OPERATION_ANNOTATION,
  RECONCILE_REASON_ANNOTATION,
  RENDERED_FROM_ANNOTATION,
} from '../contract.ts'
import { annotation, type OwnedFields, path } from '../../kit/index.ts'

export const installationFields: OwnedFields = {
  controller: 'installation',
  fields: {
    Installation: [
      annotation(OPERATION_ANNOTATION),
      annotation(RECONCILE_REASON_ANNOTATION),
      ['metadata', 'finalizers', FINALIZER],
      path('spec.context'),
      path('status'),
    ],
    Execution: [
      path('metadata.ownerReferences'),
      ['metadata', 'finalizers', FINALIZER],
      annotation(DELETE_WITHOUT_UNINSTALL_ANNOTATION),
      annotation(RENDERED_FROM_ANNOTATION),
      annotation(CACHE_HELM_CHARTS_ANNOTATION),
      path('spec'),
    ],
  },
  // Copies of imports, exports, and the states of the blueprint's executions.
  makes: ['DataObject', 'Target', 'Secret'],
}
