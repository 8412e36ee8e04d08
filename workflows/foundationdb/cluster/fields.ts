// The fields that only the FoundationDBCluster controller writes (docs/concepts/fields.md "One controller per field").

import { type OwnedFields, path } from '../../kit/index.ts'

export const clusterFields: OwnedFields = {
  controller: 'fdbcluster',
  fields: { FoundationDBCluster: [path('status')] },
  makes: ['ConfigMap', 'Service', 'PersistentVolumeClaim', 'Pod'],
}
