// Step 5. Pauses or resumes all agents of the database. Source: spec/foundationdb.md 2.27.

import { backupStep, command } from '../context.ts'
import { isManaged, pauseChange } from '../needs.ts'

export const toggleBackupPaused = backupStep('ToggleBackupPaused', async (context) => {
  const { details, calls } = context
  if (!isManaged(context) || details === undefined) return undefined
  const isPaused = pauseChange(context, details)
  if (isPaused === undefined) return undefined
  return await command(context, (address) => calls.pauseBackups({ ...address, isPaused }))
})
