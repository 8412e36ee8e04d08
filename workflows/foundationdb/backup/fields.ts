// The fields that only the FoundationDBBackup controller writes (docs/concepts/fields.md "One controller per field").

import { type OwnedFields, path } from '../../kit/index.ts'
import { BACKUP_FINALIZER } from '../contract.ts'

export const backupFields: OwnedFields = {
  controller: 'fdbbackup',
  fields: { FoundationDBBackup: [['metadata', 'finalizers', BACKUP_FINALIZER], path('status')] },
  // The agents.
  makes: ['Deployment'],
}
