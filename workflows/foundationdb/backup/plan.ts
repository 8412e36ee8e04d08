// The plan of a backup: the 7 steps of the seed in its order.
// Source: seeds/foundationdb-operator-technical-design.txt "Backup Reconciliation"; spec/foundationdb.md 2.27.

import { sequential, type Step } from '../../kit/index.ts'
import type { BackupPass } from './pass.ts'
import { modifyBackup } from './steps/modify-backup.ts'
import { startBackup } from './steps/start-backup.ts'
import { stopBackup } from './steps/stop-backup.ts'
import { toggleBackupPaused } from './steps/toggle-backup-paused.ts'
import { updateBackupAgents } from './steps/update-backup-agents.ts'
import { updateBackupStatusFirst, updateBackupStatusLast } from './steps/update-backup-status.ts'
import { endDeletedBackup } from './steps/delete-backup.ts'

export const reconcileBackup: Step<BackupPass> = sequential(
  updateBackupStatusFirst,
  updateBackupAgents,
  startBackup,
  stopBackup,
  toggleBackupPaused,
  modifyBackup,
  updateBackupStatusLast,
)

export const backupPlans = { plan: reconcileBackup, onDelete: endDeletedBackup }
