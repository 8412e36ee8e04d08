// Step 4. Ends a backup that must not run; it stays restorable. Source: spec/foundationdb.md 2.27.

import { backupStep, command } from '../context.ts'
import { isManaged, shouldRun } from '../needs.ts'

export const stopBackup = backupStep('StopBackup', async (context) => {
  const { settings, details, calls } = context
  if (!isManaged(context) || details?.isRunning !== true || shouldRun(context, details)) return undefined
  if (details.isStopping) return undefined
  return await command(context, (address) => calls.discontinueBackup({ ...address, tag: settings.tag }))
})
