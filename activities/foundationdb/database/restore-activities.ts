// The activities by which passes over FoundationDBRestores use fdbrestore. Source: spec/foundationdb.md 2.28.

import type { ActivityContext } from '../../../workflows/kit/index.ts'
import type { Attempt } from './activities.ts'
import type { RestoreOptions, RestoreStatus } from './backup-tools.ts'
import { type BackupAddress, withBackupTools } from './with-backup-tools.ts'

export async function readRestoreStatus(
  input: BackupAddress,
  context: ActivityContext,
): Promise<Attempt<RestoreStatus>> {
  return await withBackupTools(input, context, (tools) => tools.restoreStatus())
}

export async function startRestore(
  input: BackupAddress & { readonly options: RestoreOptions },
  context: ActivityContext,
): Promise<Attempt<null>> {
  return await withBackupTools(input, context, async (tools) => {
    await tools.startRestore(input.options)
    return null
  })
}
