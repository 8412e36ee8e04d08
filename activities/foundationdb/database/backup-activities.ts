// The activities by which passes over FoundationDBBackups use fdbbackup. Source: spec/foundationdb.md 2.27.

import type { ActivityContext } from '../../../workflows/kit/index.ts'
import type { Attempt } from './activities.ts'
import type { BackupOptions, BackupStatus, BackupTarget, BackupTools } from './backup-tools.ts'
import { type BackupAddress, withBackupTools } from './with-backup-tools.ts'

type Call<Input = object> = BackupAddress & Input

export async function readBackupStatus(
  input: Call<{ readonly tag: string }>,
  context: ActivityContext,
): Promise<Attempt<BackupStatus>> {
  return await withBackupTools(input, context, (tools) => tools.backupStatus(input.tag))
}

export async function startBackup(
  input: Call<{ readonly target: BackupTarget; readonly options: BackupOptions }>,
  context: ActivityContext,
): Promise<Attempt<null>> {
  return await command(input, context, (tools) => tools.startBackup(input.target, input.options))
}

export async function discontinueBackup(
  input: Call<{ readonly tag: string }>,
  context: ActivityContext,
): Promise<Attempt<null>> {
  return await command(input, context, (tools) => tools.discontinueBackup(input.tag))
}

export async function abortBackup(
  input: Call<{ readonly tag: string }>,
  context: ActivityContext,
): Promise<Attempt<null>> {
  return await command(input, context, (tools) => tools.abortBackup(input.tag))
}

/** Pauses or resumes the agents, which affects all tags. */
export async function pauseBackups(
  input: Call<{ readonly isPaused: boolean }>,
  context: ActivityContext,
): Promise<Attempt<null>> {
  return await command(input, context, (tools) => (input.isPaused ? tools.pauseBackups() : tools.resumeBackups()))
}

export async function modifyBackup(
  input: Call<{ readonly target: BackupTarget; readonly snapshotPeriodSeconds: number }>,
  context: ActivityContext,
): Promise<Attempt<null>> {
  return await command(input, context, (tools) => tools.modifyBackup(input.target, input.snapshotPeriodSeconds))
}

/** Deletes the files of the backup. Needs no database. */
export async function deleteBackup(
  { url, ...address }: Omit<BackupAddress, 'connectionString'> & { readonly url: string },
  context: ActivityContext,
): Promise<Attempt<null>> {
  return await command({ ...address, connectionString: '' }, context, (tools) => tools.deleteBackup(url))
}

async function command(
  input: BackupAddress,
  context: ActivityContext,
  run: (tools: BackupTools) => Promise<void>,
): Promise<Attempt<null>> {
  return await withBackupTools(input, context, async (tools) => {
    await run(tools)
    return null
  })
}
