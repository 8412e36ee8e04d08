// Declares the fields that only the controller of Installations writes (docs/concepts.md "One controller per field").

import {
  CACHE_HELM_CHARTS_ANNOTATION,
  DELETE_WITHOUT_UNINSTALL_ANNOTATION,
  ENCOMPASSED_BY_LABEL,
  FINALIZER,
  OPERATION_ANNOTATION,
  PATH_ANNOTATION,
  PAUSED_ANNOTATION,
  RECONCILE_REASON_ANNOTATION,
  RENDERED_FROM_ANNOTATION,
  SUBINSTALLATION_NAME_ANNOTATION,
} from '../contract.ts'
import { annotation, label, type OwnedFields, path } from '../../kit/index.ts'

export const installationFields: OwnedFields = {
  controller: 'installation',
  fields: {
    Installation: [
      annotation(OPERATION_ANNOTATION),
      annotation(PAUSED_ANNOTATION),
      annotation(RECONCILE_REASON_ANNOTATION),
      ['metadata', 'finalizers', FINALIZER],
      // The spec of sub-installations, and the default of the context.
      path('spec'),
      path('metadata.ownerReferences'),
      label(ENCOMPASSED_BY_LABEL),
      annotation(SUBINSTALLATION_NAME_ANNOTATION),
      annotation(PATH_ANNOTATION),
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
