// Declares the fields that the Installation controller writes. No other controller of Pawl writes them; users may. The
// exceptions are listed in docs/concepts/fields.md "One controller per field": the Execution controller, too, removes the
// finalizer of Executions. The declaration has no effect at run time: test/workflows/fields.test.ts and
// test/e2e/fields.test.ts check it.

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
      // An entry of the list of finalizers. `path` would split the name at its dots.
      ['metadata', 'finalizers', FINALIZER],
      // The whole spec of sub-installations; of other Installations only `spec.context`, if it is missing.
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
  // DataObjects and Targets are copies of imports and exports. Each Secret has the state of one execution of the
  // blueprint, such as generated passwords.
  makes: ['DataObject', 'Target', 'Secret'],
}
