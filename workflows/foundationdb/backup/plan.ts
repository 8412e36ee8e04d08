// The plan of a backup: the 7 steps of the seed in its order.
// Source: seeds/foundationdb-operator-technical-design.txt "Backup Reconciliation"; spec/foundationdb.md 2.27.

import { always, sequential, type Step } from '../../kit/index.ts'
import { blockedSteps, reportProgress } from '../progress.ts'
import { backupSettings } from '../model/backup-settings.ts'
import type { FoundationDBBackup } from './kind.ts'
import { endsOnDeletion } from './needs.ts'
import type { BackupPass } from './pass.ts'
import { endDeletedBackup } from './steps/delete-backup.ts'
import { modifyBackup } from './steps/modify-backup.ts'
import { startBackup } from './steps/start-backup.ts'
import { stopBackup } from './steps/stop-backup.ts'
import { toggleBackupPaused } from './steps/toggle-backup-paused.ts'
import { updateBackupAgents } from './steps/update-backup-agents.ts'
import { updateBackupStatusFirst, updateBackupStatusLast } from './steps/update-backup-status.ts'

const BACKUP_STEPS: readonly Step<BackupPass>[] = [
  updateBackupStatusFirst,
  updateBackupAgents,
  startBackup,
  stopBackup,
  toggleBackupPaused,
  modifyBackup,
  updateBackupStatusLast,
]

const reportBackupProgress = reportProgress<BackupPass>((pass) => {
  const { metadata, status } = pass.target
  const blocked = blockedSteps(pass)
  const wasReconciled = (status?.generations?.reconciled ?? 0) >= metadata.generation
  // A deletion is not reported as a reconciled generation.
  const isDeleted = metadata.deletionTimestamp !== undefined
  return { blocked, isComplete: blocked.length === 0, wasComplete: wasReconciled || isDeleted }
})

const reconcileBackup: Step<BackupPass> = always(sequential(...BACKUP_STEPS), reportBackupProgress)

export const backupPlans = {
  plan: reconcileBackup,
  needsFinalizer: ({ metadata, spec }: FoundationDBBackup) => endsOnDeletion(backupSettings(metadata.name, spec)),
  onDelete: always(endDeletedBackup, reportBackupProgress),
}
