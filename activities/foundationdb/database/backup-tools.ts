// Runs fdbbackup and fdbrestore and reads their output. Source: spec/foundationdb.md 2.27, 2.28, 4.3; recordings of FoundationDB 7.1.67.
//
//   U1. Backup URLs are arguments, which every user of the machine can read, so a URL with a secret is refused. The tools read credentials from the file
//      in FDB_BLOB_CREDENTIALS.
//   U2. The tools have no time-out: with an unavailable database they hang, so the adapter kills them.
//   U3. To stop a backup that does not run, or to delete a missing backup, succeeds.

import { withClusterFile, withPrivateFolder } from './cluster-file.ts'
import type { CallSettings } from './fdbcli.ts'
import { CommandFailure } from './fdbcli-output.ts'
import { readerOf } from './json-reader.ts'
import { runTool, type ToolResult } from './run-tool.ts'

export interface BackupTarget {
  /** `blobstore://...` or `file://...`. */
  readonly url: string
  readonly tag: string
}

export interface BackupOptions {
  readonly snapshotPeriodSeconds?: number | undefined
  /** Continues after the first snapshot. */
  readonly isContinuous?: boolean
  readonly encryptionKeyPath?: string | undefined
  readonly isPartitionedLog?: boolean
}

/** `fdbbackup status --json`. */
export interface BackupStatus {
  readonly tag: string
  /** `Submitted`, `Running`, `RunningDifferentially`, `Completed`, `Aborted`; undefined: there never was a backup. */
  readonly state: string | undefined
  readonly isRunning: boolean
  /** It ends after its snapshot. */
  readonly isStopping: boolean
  /** Of all tags. */
  readonly isPaused: boolean
  readonly isRestorable: boolean
  readonly url: string | undefined
  /** Undefined until an agent has begun the backup. */
  readonly snapshotPeriodSeconds: number | undefined
  /** The version of the latest restorable point. Undefined: nothing can be restored. */
  readonly restorableVersion: number | undefined
}

export interface RestoreOptions {
  readonly url: string
  /** Empty: everything. */
  readonly keyRanges: readonly { readonly start: string; readonly end: string }[]
  readonly version?: number | undefined
  readonly encryptionKeyPath?: string | undefined
}

export interface RestoreStatus {
  /** As the tool prints it: `unitialized`, `queued`, `starting`, `running`, `completed`, `aborted`. Undefined: there never was a restore. */
  readonly state: string | undefined
  /** The URL of the backup. */
  readonly url: string | undefined
}

export interface BackupTools {
  startBackup(target: BackupTarget, options: BackupOptions): Promise<void>
  modifyBackup(target: BackupTarget, snapshotPeriodSeconds: number): Promise<void>
  discontinueBackup(tag: string): Promise<void>
  abortBackup(tag: string): Promise<void>
  pauseBackups(): Promise<void>
  resumeBackups(): Promise<void>
  /** Needs no database. */
  deleteBackup(url: string): Promise<void>
  backupStatus(tag: string): Promise<BackupStatus>
  startRestore(options: RestoreOptions): Promise<void>
  restoreStatus(): Promise<RestoreStatus>
}

const USUAL_MS = 20_000
/** A status is read in every pass, also while the database is unavailable. */
const STATUS_MS = 10_000
const DELETE_MS = 600_000

/** @param knobs further arguments of the form `--knob_name=value`. @throws CommandFailure from all methods. */
export function backupTools(settings: CallSettings, knobs: readonly string[] = []): BackupTools {
  knobs.forEach(checkKnob)
  const backup = (verb: string, args: readonly string[], timeoutMs = USUAL_MS) =>
    run(settings, { tool: 'fdbbackup', args: (file) => [verb, '-C', file, ...args, ...knobs], timeoutMs })
  const restore = (verb: string, args: readonly string[], timeoutMs = USUAL_MS) =>
    run(settings, {
      tool: 'fdbrestore',
      args: (file) => [verb, '--dest_cluster_file', file, ...args, ...knobs],
      timeoutMs,
    })
  return {
    async startBackup(target, options) {
      check('fdbbackup start', await backup('start', [...targetArgs(target), ...backupArgs(options)]))
    },
    async modifyBackup({ url, tag }, seconds) {
      check(
        'fdbbackup modify',
        await backup('modify', ['-s', String(seconds), '-d', checkedURL(url), '-t', checkedTag(tag)]),
      )
    },
    async discontinueBackup(tag) {
      check('fdbbackup discontinue', await backup('discontinue', ['-t', checkedTag(tag)]), NOT_RUNNING)
    },
    async abortBackup(tag) {
      check('fdbbackup abort', await backup('abort', ['-t', checkedTag(tag)]), NOT_RUNNING)
    },
    async pauseBackups() {
      check('fdbbackup pause', await backup('pause', []))
    },
    async resumeBackups() {
      check('fdbbackup resume', await backup('resume', []))
    },
    async deleteBackup(url) {
      const args = ['delete', '-d', checkedURL(url), ...knobs]
      const call = { tool: 'fdbbackup', args, timeoutMs: DELETE_MS } as const
      check('fdbbackup delete', await withPrivateFolder((home) => runIn(home, settings, call)), NO_BACKUP)
    },
    async backupStatus(tag) {
      const result = await backup('status', ['--json', '-t', checkedTag(tag)], STATUS_MS)
      check('fdbbackup status', result)
      return parseBackupStatus(result.stdout)
    },
    async startRestore(options) {
      check('fdbrestore start', await restore('start', restoreArgs(options)))
    },
    async restoreStatus() {
      const result = await restore('status', [], STATUS_MS)
      check('fdbrestore status', result)
      return parseRestoreStatus(result.stdout)
    },
  }
}

/** U3: the real tool spells the first text in two ways. */
const NOT_RUNNING = /A backup (?:was|in) not running on tag/
const NO_BACKUP = /Backup does not exist/

interface Call<Args> {
  readonly tool: 'fdbbackup' | 'fdbrestore'
  readonly args: Args
  readonly timeoutMs: number
}

/** Runs a tool that uses the database. */
async function run(
  settings: CallSettings,
  call: Call<(clusterFile: string) => readonly string[]>,
): Promise<ToolResult> {
  return await withClusterFile(
    settings.address.connectionString,
    async ({ file, folder }) => await runIn(folder, settings, { ...call, args: call.args(file) }),
  )
}

async function runIn(
  home: string,
  { tools, address, signal, environment }: CallSettings,
  { tool, ...call }: Call<readonly string[]>,
): Promise<ToolResult> {
  const program = await tools.find(tool, address.version)
  return await runTool({ program, ...call, environment, home, signal })
}

/** @throws CommandFailure unless the tool succeeded or printed `expected`. */
function check(command: string, result: ToolResult, expected?: RegExp): void {
  if (result.hasTimedOut) throw new CommandFailure('timeout', `${command}: killed after its time-out`)
  if (result.exitCode === 0 || expected?.test(result.stderr) === true) return
  const text = result.stderr.trim().split('\n')[0] ?? ''
  throw new CommandFailure('refused', `${command}: exit code ${result.exitCode}: ${text.replace(/^ERROR: /, '')}`)
}

/** @param text output of `fdbbackup status --json`. */
export function parseBackupStatus(text: string): BackupStatus {
  const status = readerOf(JSON.parse(text) as unknown)
  return {
    tag: status.at('Tag').text(),
    state: status.at('Status', 'Name').optionalText(),
    isRunning: status.at('Status', 'Running').boolean() ?? false,
    isStopping: status.at('StopAfterSnapshot').boolean() ?? false,
    isPaused: status.at('BackupAgentsPaused').boolean() ?? false,
    isRestorable: status.at('Restorable').boolean() ?? false,
    url: status.at('DestinationURL').optionalText(),
    snapshotPeriodSeconds: status.at('SnapshotIntervalSeconds').number(),
    restorableVersion: status.at('LatestRestorablePoint', 'Version').number(),
  }
}

/** The restore of the tag `default`. @param text output of `fdbrestore status`. */
export function parseRestoreStatus(text: string): RestoreStatus {
  const line = text.split('\n').find((one) => /^Tag: (?:default)? /.test(one)) ?? ''
  return { state: /\sState:\s(\w+)/.exec(line)?.[1], url: /\sURL:\s(\w+:\S+)/.exec(line)?.[1] }
}

function targetArgs({ url, tag }: BackupTarget): readonly string[] {
  return ['-d', checkedURL(url), '-t', checkedTag(tag)]
}

function backupArgs({ snapshotPeriodSeconds, isContinuous, ...options }: BackupOptions): readonly string[] {
  return [
    ...(snapshotPeriodSeconds === undefined ? [] : ['-s', String(snapshotPeriodSeconds)]),
    ...(isContinuous === true ? ['-z'] : []),
    ...encryptionArgs(options),
    ...(options.isPartitionedLog === true ? ['--partitioned-log-experimental'] : []),
  ]
}

function restoreArgs({ url, keyRanges, version, ...options }: RestoreOptions): readonly string[] {
  const ranges = keyRanges.map(({ start, end }) => `${checkedKey(start)} ${checkedKey(end)}`).join(';')
  return [
    ...['-r', checkedURL(url)],
    ...(ranges === '' ? [] : ['-k', ranges]),
    ...(version === undefined ? [] : ['-v', String(version)]),
    ...encryptionArgs(options),
  ]
}

function encryptionArgs({ encryptionKeyPath }: { readonly encryptionKeyPath?: string | undefined }): readonly string[] {
  return encryptionKeyPath === undefined ? [] : ['--encryption-key-file', checkedPath(encryptionKeyPath)]
}

/** U1. */
function checkedURL(url: string): string {
  if (!/^(?:blobstore|file):\/\/[^\s]+$/.test(url))
    throw new CommandFailure('refused', `backup URL ${JSON.stringify(url)}: expected blobstore://... or file://...`)
  // In `account:secret@host` the secret ends at the last @ before the first slash.
  if (/^blobstore:\/\/[^/?]*:[^/?@]*@/.test(url))
    throw new CommandFailure(
      'refused',
      'backup URL: contains a secret; write the account only, and put the secret into the file of FDB_BLOB_CREDENTIALS',
    )
  return url
}

function checkedTag(tag: string): string {
  if (/^[A-Za-z0-9_.][A-Za-z0-9_.-]*$/.test(tag)) return tag
  throw new CommandFailure('refused', `backup tag ${JSON.stringify(tag)}: expected letters, digits, ".", "_" and "-"`)
}

/** A key in fdbrestore's notation. A leading minus sign would make the range an option. */
function checkedKey(key: string): string {
  if (/^[A-Za-z0-9/\\-]+$/.test(key)) return key.replace(/^-/, '\\x2d')
  throw new CommandFailure('refused', `key ${JSON.stringify(key)}: expected letters, digits, "/", "\\" and "-"`)
}

function checkedPath(path: string): string {
  if (/^\/[^\0]*$/.test(path)) return path
  throw new CommandFailure('refused', `encryption key file ${JSON.stringify(path)}: expected an absolute path`)
}

function checkKnob(knob: string): void {
  if (/^--knob_[a-z0-9_]+=[^\s]*$/.test(knob)) return
  throw new CommandFailure('refused', `argument ${JSON.stringify(knob)}: expected --knob_NAME=VALUE`)
}
