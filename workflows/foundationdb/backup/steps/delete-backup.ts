// Ends a deleted backup by its deletion policy. Source: spec/foundationdb.md 2.27.

import { knobsOf } from '../../observed-cluster.ts'
import { backupStep, command, databaseAddress } from '../context.ts'
import { endsOnDeletion } from '../needs.ts'

export const endDeletedBackup = backupStep('EndDeletedBackup', async (context) => {
  const { settings, calls } = context
  if (!endsOnDeletion(settings)) return undefined
  const address = databaseAddress(context)
  // Without a database, nothing runs.
  if (address !== undefined) {
    const problem = await command(context, () => calls.abortBackup({ ...address, tag: settings.tag }))
    if (problem !== undefined) return problem
  }
  if (settings.deletionPolicy === 'stop') return undefined
  // The files of a backup outlive its database.
  const { version } = address ?? settings
  const knobs = knobsOf(settings.spec.customParameters)
  const result = await calls.deleteBackup({ version, knobs, url: settings.url })
  return 'failure' in result ? result.failure.message : undefined
})
