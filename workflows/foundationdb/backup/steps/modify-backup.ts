// Step 6. Changes the period or the URL of a running backup. Source: spec/foundationdb.md 2.27.

import { backupStep, command } from '../context.ts'
import { isManaged, needsModification } from '../needs.ts'

export const modifyBackup = backupStep('ModifyBackup', async (context) => {
  const { settings, details, calls } = context
  if (!isManaged(context) || details === undefined || !needsModification(context, details)) return undefined
  const { url, tag, snapshotPeriodSeconds } = settings
  return await command(context, (address) =>
    calls.modifyBackup({ ...address, target: { url, tag }, snapshotPeriodSeconds }),
  )
})
