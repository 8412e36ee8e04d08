// The webhook's rules for FoundationDBBackups. Passes apply the same rules, because a cluster may have no webhook.

import type { Admission } from '../../kit/index.ts'
import { backupKind } from './kind.ts'
import { backupProblems } from './rules/spec.ts'

export const backupAdmission: Admission = {
  kind: backupKind,
  operations: ['CREATE', 'UPDATE'],
  validate: ({ object }) => backupProblems(object),
}
