// The controller of FoundationDBBackups in level mode, as one value.

import { defineLevel } from '../../kit/index.ts'
import { BACKUP_EVENT_SOURCE, BACKUP_FINALIZER } from '../contract.ts'
import { backupCalls } from './backup-calls.ts'
import { backupKind, type FoundationDBBackup } from './kind.ts'
import { backupQueries, type BackupState } from './pass.ts'
import { reconcileBackup } from './plan.ts'
import { endDeletedBackup } from './steps/delete-backup.ts'

export const backupController = defineLevel<BackupState, FoundationDBBackup>({
  name: 'fdbbackup',
  target: backupKind,
  queries: backupQueries,
  plan: reconcileBackup,
  finalizer: BACKUP_FINALIZER,
  onDelete: endDeletedBackup,
  eventSource: BACKUP_EVENT_SOURCE,
  plurals: { 'apps.foundationdb.org/v1beta2/FoundationDBCluster': 'foundationdbclusters' },
  // Only workers with this wing poll the queue: others lack the tools.
  settings: { queue: 'foundationdb', events: 'along' },
  activities: backupCalls,
  writes: ['apps/v1/Deployment'],
})
