// Whether Pods with an outdated spec are replaced by new process groups, or deleted and created again. Source: spec/foundationdb.md 1.1
// `podUpdateStrategy`, 2.5, 2.21.

import { isTransactionSystem } from '../contract.ts'
import type { ClusterSettings } from '../model/cluster-settings.ts'

export function isReplacedForUpdate(
  { automation }: Pick<ClusterSettings, 'automation'>,
  processClass: string,
): boolean {
  if (automation.podUpdateStrategy === 'Replace') return true
  return automation.podUpdateStrategy === 'ReplaceTransactionSystem' && isTransactionSystem(processClass)
}
