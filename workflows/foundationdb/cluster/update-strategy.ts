// Whether Pods with an outdated spec are replaced by new process groups, or deleted and created again. Source: spec/foundationdb.md 1.1
// `podUpdateStrategy`, 2.5, 2.21.

import { isTransactionSystem } from '../contract.ts'
import { parseConnectionString } from '../database/connection-string.ts'
import { type ClusterContext, connectionStringOf } from './context.ts'
import { coordinatorCheck } from './coordinator-rules.ts'
import type { ProcessGroupStatus } from './kind.ts'

export function isReplacedForUpdate(context: ClusterContext, group: ProcessGroupStatus): boolean {
  const { podUpdateStrategy } = context.settings.automation
  if (podUpdateStrategy === 'Replace') return true
  if (podUpdateStrategy === 'ReplaceTransactionSystem' && isTransactionSystem(group.processClass ?? '')) return true
  return isOnlyCoordinator(context, group)
}

/** A recreated Pod has another IP address, at which no process would look for its only coordinator: the database would stay unavailable. */
function isOnlyCoordinator(context: ClusterContext, group: ProcessGroupStatus): boolean {
  const connectionString = connectionStringOf(context)
  if (connectionString === undefined || parseConnectionString(connectionString).coordinators.length > 1) return false
  const { publicIPSource, useDNSInClusterFile } = context.settings.routing
  return publicIPSource === 'pod' && !useDNSInClusterFile && coordinatorCheck(context, undefined)(group)
}
