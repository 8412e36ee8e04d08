// Step 3. Starts a backup that has to run. Source: spec/foundationdb.md 2.27.

import { noDatabase } from '../../observed-cluster.ts'
import { backupStep, command } from '../context.ts'
import { isManaged, shouldRun } from '../needs.ts'

export const startBackup = backupStep('StartBackup', async (context) => {
  const { settings, details, calls } = context
  if (!isManaged(context)) return undefined
  if (details === undefined) return settings.state === 'Stopped' ? undefined : noDatabase(settings.clusterName)
  if (details.isRunning || !shouldRun(context, details)) return undefined
  return await command(context, (address) =>
    calls.startBackup({
      ...address,
      target: { url: settings.url, tag: settings.tag },
      options: {
        snapshotPeriodSeconds: settings.snapshotPeriodSeconds,
        isContinuous: settings.mode === 'continuous',
        isPartitionedLog: settings.type === 'partitioned_log',
        ...(settings.spec.encryptionKeyPath !== undefined && { encryptionKeyPath: settings.spec.encryptionKeyPath }),
      },
    }),
  )
})
