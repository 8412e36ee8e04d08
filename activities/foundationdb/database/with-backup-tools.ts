// Runs fdbbackup or fdbrestore in an activity.

import type { ActivityContext } from '../../../workflows/kit/index.ts'
import type { Attempt } from './activities.ts'
import type { BackupTools } from './backup-tools.ts'
import type { DatabaseAddress } from './database.ts'
import { CommandFailure } from './fdbcli-output.ts'

/** Opened by the wing when the worker starts. */
export interface BackupParts {
  /** @param signal ends the calls, with their child processes. */
  readonly openBackups: (address: DatabaseAddress, signal: AbortSignal, knobs: readonly string[]) => BackupTools
}

/** The database of a call, and the knobs of the tools. */
export type BackupAddress = DatabaseAddress & { readonly knobs: readonly string[] }

/** A failed command is part of the result, because the pass decides what to do. */
export async function withBackupTools<Value>(
  { connectionString, version, knobs }: BackupAddress,
  { parts, signal }: ActivityContext,
  run: (tools: BackupTools) => Promise<Value>,
): Promise<Attempt<Value>> {
  try {
    const { openBackups } = parts as BackupParts
    return { value: await run(openBackups({ connectionString, version }, signal, knobs)) }
  } catch (error) {
    if (!(error instanceof CommandFailure)) throw error
    return { failure: { kind: error.kind, message: error.message } }
  }
}
