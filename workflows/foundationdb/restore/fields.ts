// The fields that only the FoundationDBRestore controller writes (docs/concepts/fields.md "One controller per field").

import { type OwnedFields, path } from '../../kit/index.ts'

export const restoreFields: OwnedFields = {
  controller: 'fdbrestore',
  fields: { FoundationDBRestore: [path('status')] },
  makes: [],
}
