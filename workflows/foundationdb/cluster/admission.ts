// The webhook's rules for FoundationDBClusters. Passes apply the same rules, because a cluster may have no webhook.

import type { Admission } from '../../kit/index.ts'
import { clusterKind } from './kind.ts'
import { clusterProblems } from './rules/spec.ts'

export const clusterAdmission: Admission = {
  kind: clusterKind,
  operations: ['CREATE', 'UPDATE'],
  validate: ({ object }) => clusterProblems(object),
}
