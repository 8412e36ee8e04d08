// The webhook's rules for FoundationDBRestores. Passes apply the same rules, because a cluster may have no webhook.

import type { Admission } from '../../kit/index.ts'
import { restoreKind } from './kind.ts'
import { restoreProblems } from './rules/spec.ts'

export const restoreAdmission: Admission = {
  kind: restoreKind,
  operations: ['CREATE', 'UPDATE'],
  validate: ({ object }) => restoreProblems(object),
}
