// The activities by which passes over FoundationDBRestores use fdbrestore. Source: spec/foundationdb.md 2.28.

import type { ActivityContext } from '../../../workflows/kit/index.ts'
import type { Attempt } from './activities.ts'
import type { BackupParts } from './backup-activities.ts'
import type { BackupTools, RestoreOptions, RestoreStatus } from './backup-tools.ts'
import type { DatabaseAddress } from './database.ts'
import { CommandFailure } from './fdbcli-output.ts'

export async function readRestoreStatus(
  input: DatabaseAddress,
  context: ActivityContext,
): Promise<Attempt<RestoreStatus>> {
  return await withTools(input, context, (tools) => tools.restoreStatus())
}

export async function startRestore(
  input: DatabaseAddress & { readonly options: RestoreOptions },
  context: ActivityContext,
): Promise<Attempt<null>> {
  return await withTools(input, context, async (tools) => {
    await tools.startRestore(input.options)
    return null
  })
}

/** A failed command is part of the result, because the pass decides what to do. */
async function withTools<Value>(
  { connectionString, version }: DatabaseAddress,
  { parts, signal }: ActivityContext,
  run: (tools: BackupTools) => Promise<Value>,
): Promise<Attempt<Value>> {
  try {
    const { openBackups } = parts as BackupParts
    return { value: await run(openBackups({ connectionString, version }, signal)) }
  } catch (error) {
    if (!(error instanceof CommandFailure)) throw error
    return { failure: { kind: error.kind, message: error.message } }
  }
}
