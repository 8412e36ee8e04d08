// fdbbackup and fdbrestore in memory, for tests of the controllers. Records the commands.

import { CommandFailure } from '../../../activities/foundationdb/database/fdbcli-output.ts'
import type {
  BackupStatus,
  BackupTools,
  RestoreStatus,
} from '../../../activities/foundationdb/database/backup-tools.ts'

export class MemoryBackups implements BackupTools {
  readonly commands: string[] = []
  status: BackupStatus = {
    tag: 'default',
    state: undefined,
    isRunning: false,
    isStopping: false,
    isPaused: false,
    isRestorable: false,
    url: undefined,
    snapshotPeriodSeconds: undefined,
    restorableVersion: undefined,
  }
  restore: RestoreStatus = { state: undefined, url: undefined }
  /** The message of the failure of all commands; undefined: they succeed. */
  failure: string | undefined

  startBackup(...[{ url, tag }, options]: Parameters<BackupTools['startBackup']>): Promise<void> {
    const { snapshotPeriodSeconds, isContinuous = false } = options
    return this.command(`start ${url} ${tag} ${String(snapshotPeriodSeconds)}${isContinuous ? ' continuous' : ''}`, {
      state: 'Running',
      isRunning: true,
      isRestorable: false,
      url,
      snapshotPeriodSeconds,
    })
  }

  modifyBackup(...[{ url }, snapshotPeriodSeconds]: Parameters<BackupTools['modifyBackup']>): Promise<void> {
    return this.command(`modify ${String(snapshotPeriodSeconds)}`, { url, snapshotPeriodSeconds })
  }

  discontinueBackup(tag: string): Promise<void> {
    return this.command(`discontinue ${tag}`, { state: 'Completed', isRunning: false })
  }

  abortBackup(tag: string): Promise<void> {
    return this.command(`abort ${tag}`, { state: 'Aborted', isRunning: false })
  }

  pauseBackups(): Promise<void> {
    return this.command('pause', { isPaused: true })
  }

  resumeBackups(): Promise<void> {
    return this.command('resume', { isPaused: false })
  }

  deleteBackup(url: string): Promise<void> {
    return this.command(`delete ${url}`, {})
  }

  async backupStatus(tag: string): Promise<BackupStatus> {
    this.check()
    return await Promise.resolve({ ...this.status, tag })
  }

  async startRestore(...[{ url, keyRanges, version }]: Parameters<BackupTools['startRestore']>): Promise<void> {
    const ranges = keyRanges.map(({ start, end }) => `${start}-${end}`).join(' ')
    await this.command(`restore ${url} [${ranges}] ${String(version)}`, {})
    this.restore = { state: 'queued', url }
  }

  async restoreStatus(): Promise<RestoreStatus> {
    this.check()
    return await Promise.resolve(this.restore)
  }

  private async command(text: string, change: Partial<BackupStatus>): Promise<void> {
    this.check()
    this.commands.push(text)
    this.status = { ...this.status, ...change }
    await Promise.resolve()
  }

  private check(): void {
    if (this.failure !== undefined) throw new CommandFailure('timeout', this.failure)
  }
}
