// Ends a deleted backup by its deletion policy. Source: spec/foundationdb.md 2.27.

import { backupStep, command, databaseAddress } from '../context.ts'
import { isManaged } from '../needs.ts'

export const endDeletedBackup = backupStep('EndDeletedBackup', async (context) => {
  const { settings, calls } = context
  // Without a database, nothing runs.
  if (settings.deletionPolicy === 'noop' || !isManaged(context) || databaseAddress(context) === undefined) {
    return undefined
  }
  const problem = await command(context, (address) => calls.abortBackup({ ...address, tag: settings.tag }))
  if (problem !== undefined || settings.deletionPolicy === 'stop') return problem
  return await command(context, (address) => calls.deleteBackup({ ...address, url: settings.url }))
})
