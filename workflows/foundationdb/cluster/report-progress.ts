// Reports the end of a pass over a cluster (../progress.ts).

import { reportProgress } from '../progress.ts'
import { hasNeeds } from '../explain-progress.ts'
import { contextOf } from './context.ts'
import type { ClusterStatus } from './kind.ts'
import type { ClusterPass } from './pass.ts'

export const reportClusterProgress = reportProgress<ClusterPass>((pass) => {
  const { blocked, status } = contextOf(pass)
  const { generation } = pass.target.metadata
  return {
    blocked,
    isComplete: isReconciled(status, generation),
    isRepairing: hasNeeds(status.generations),
    wasComplete: isReconciled(pass.target.status, generation),
  }
})

function isReconciled(status: ClusterStatus | undefined, generation: number): boolean {
  return (status?.generations?.reconciled ?? 0) >= generation
}
