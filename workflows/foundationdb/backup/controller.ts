// The controller of FoundationDBBackups with its plans.

import { addPlans, type LevelController } from '../../kit/index.ts'
import { backupDeclaration } from './declaration.ts'
import type { FoundationDBBackup } from './kind.ts'
import type { BackupState } from './pass.ts'
import { backupPlans } from './plan.ts'

export const backupController: LevelController<BackupState, FoundationDBBackup> = addPlans(
  backupDeclaration,
  backupPlans,
)
