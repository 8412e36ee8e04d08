// The controller of FoundationDBBackups in level mode, as one value.

import { declareLevel } from '../../kit/index.ts'
import { BACKUP_EVENT_SOURCE, BACKUP_FINALIZER } from '../contract.ts'
import { explainProgress } from '../explain-progress.ts'
import { backupCalls } from './backup-calls.ts'
import { backupKind, type FoundationDBBackup } from './kind.ts'
import { backupQueries, type BackupState } from './pass.ts'

export const backupDeclaration = declareLevel<BackupState, FoundationDBBackup>({
  name: 'fdbbackup',
  target: backupKind,
  queries: backupQueries,
  finalizer: BACKUP_FINALIZER,
  explain: explainProgress,
  eventSource: BACKUP_EVENT_SOURCE,
  plurals: { 'apps.foundationdb.org/v1beta2/FoundationDBCluster': 'foundationdbclusters' },
  // Only workers with this wing poll the queue: others lack the tools.
  settings: { queue: 'foundationdb', events: 'along' },
  activities: backupCalls,
  writes: ['apps/v1/Deployment'],
  loadPlans: async () => (await import('./plan.ts')).backupPlans,
})
