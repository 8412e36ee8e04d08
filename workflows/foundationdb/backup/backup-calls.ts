// The activities by which passes use fdbbackup.

import { activitiesOf } from '../../kit/index.ts'

const USUAL_MS = 60_000
const DELETE_MS = 900_000

export const backupCalls = activitiesOf(
  () => import('../../../activities/foundationdb/database/backup-activities.ts'),
  {
    readBackupStatus: { timeoutMs: USUAL_MS, attempts: 1 },
    startBackup: { timeoutMs: USUAL_MS, attempts: 1 },
    discontinueBackup: { timeoutMs: USUAL_MS, attempts: 1 },
    abortBackup: { timeoutMs: USUAL_MS, attempts: 1 },
    pauseBackups: { timeoutMs: USUAL_MS, attempts: 1 },
    modifyBackup: { timeoutMs: USUAL_MS, attempts: 1 },
    deleteBackup: { timeoutMs: DELETE_MS, attempts: 1 },
  },
)

export type BackupCalls = NonNullable<(typeof backupCalls)['calls']>
