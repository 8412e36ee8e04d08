// The command lines of fdbbackup and fdbrestore, the readers of their output against the recordings, and the refusal of unsafe arguments.

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'

import {
  backupTools,
  parseBackupStatus,
  parseRestoreStatus,
} from '../../../../activities/foundationdb/database/backup-tools.ts'
import { hasRecordings, recordedCommands } from '../../../support/foundationdb/recordings.ts'

function toolsWith(find: (tool: string) => Promise<string>, knobs: readonly string[] = []) {
  return backupTools(
    {
      tools: { find, isSupported: () => Promise.resolve(true), protocolOf: () => Promise.resolve('') },
      address: { connectionString: 'a:b@127.0.0.1:4501', version: '7.1.67' },
      signal: new AbortController().signal,
      environment: {},
    },
    knobs,
  )
}

function stdoutOf(number: string): string {
  return recordedCommands(({ name }) => name === `21-backup-restore/${number}`)[0]?.stdout ?? ''
}

describe.skipIf(!hasRecordings)('a recorded status of a backup', () => {
  it.each([
    ['003', { state: undefined, isRunning: false, isPaused: false, url: undefined }],
    ['027', { state: 'Submitted', isRunning: true, isRestorable: false, snapshotPeriodSeconds: undefined }],
    ['031', { state: 'Running', isRunning: true, isRestorable: false, snapshotPeriodSeconds: 20 }],
    ['041', { state: 'RunningDifferentially', isRunning: true, isStopping: false, isRestorable: true }],
    ['068', { tag: 'second', state: 'Running', isRunning: true, isStopping: true, isRestorable: false }],
    ['087', { state: 'Completed', isRunning: false, isRestorable: true, url: 'file://$DIR/c21/backups' }],
    ['122', { state: 'Aborted', isRunning: false, isRestorable: false }],
  ])('%s has the expected fields', (number, expected) => {
    expect(parseBackupStatus(stdoutOf(number))).toMatchObject({ tag: 'default', ...expected })
  })
})

describe.skipIf(!hasRecordings)('a recorded status of a restore', () => {
  it.each([
    ['015', undefined],
    ['016', 'unitialized'],
    ['098', 'queued'],
    ['102', 'completed'],
    ['109', 'completed'],
  ])('%s has the expected state', (number, state) => {
    expect(parseRestoreStatus(stdoutOf(number))).toMatchObject({ state })
  })

  it('has the URL of its backup', () => {
    expect(parseRestoreStatus(stdoutOf('015')).url).toBeUndefined()
    expect(parseRestoreStatus(stdoutOf('016')).url).toBeUndefined()
    expect(parseRestoreStatus(stdoutOf('102')).url).toMatch(/^file:\/\/\S+\/backup-2026-11-27-12-11-54\.856959$/)
  })
})

describe('the command line of a backup or restore', () => {
  const folder = mkdtempSync(join(tmpdir(), 'pawl-fdb-argv-'))
  const [program, log] = [join(folder, 'tool'), join(folder, 'log')]
  writeFileSync(program, `#!/bin/sh\necho "$*" >'${log}'\necho '{"Tag":"nightly"}'\n`, { mode: 0o755 })
  afterAll(() => {
    rmSync(folder, { recursive: true })
  })
  const found: string[] = []
  const tools = toolsWith(
    (tool) => {
      found.push(tool)
      return Promise.resolve(program)
    },
    ['--knob_http_verbose_level=1'],
  )
  const url = 'blobstore://account@127.0.0.1:9000/name?bucket=b'
  const target = { url, tag: 'nightly' }

  // Source: spec/foundationdb.md 4.3.
  it.each<readonly [() => Promise<unknown>, string]>([
    [
      () => tools.startBackup(target, { snapshotPeriodSeconds: 60, isContinuous: true }),
      `fdbbackup start -C FILE -d ${url} -t nightly -s 60 -z`,
    ],
    [
      () => tools.startBackup(target, { encryptionKeyPath: '/key', isPartitionedLog: true }),
      `fdbbackup start -C FILE -d ${url} -t nightly --encryption-key-file /key --partitioned-log-experimental`,
    ],
    [() => tools.modifyBackup(target, 60), `fdbbackup modify -C FILE -s 60 -d ${url} -t nightly`],
    [() => tools.discontinueBackup('nightly'), 'fdbbackup discontinue -C FILE -t nightly'],
    [() => tools.abortBackup('nightly'), 'fdbbackup abort -C FILE -t nightly'],
    [() => tools.pauseBackups(), 'fdbbackup pause -C FILE'],
    [() => tools.resumeBackups(), 'fdbbackup resume -C FILE'],
    [() => tools.backupStatus('nightly'), 'fdbbackup status -C FILE --json -t nightly'],
    [() => tools.deleteBackup(url), `fdbbackup delete -d ${url}`],
    [() => tools.startRestore({ url, keyRanges: [] }), `fdbrestore start --dest_cluster_file FILE -r ${url}`],
    [
      () =>
        tools.startRestore({
          url,
          keyRanges: [
            { start: 'a', end: 'b' },
            { start: '-c', end: 'd' },
          ],
          version: 7,
          encryptionKeyPath: '/key',
        }),
      String.raw`fdbrestore start --dest_cluster_file FILE -r ${url} -k a b;\x2dc d -v 7 --encryption-key-file /key`,
    ],
    [() => tools.restoreStatus(), 'fdbrestore status --dest_cluster_file FILE'],
  ])('is complete: %$', async (call, expected) => {
    await call()
    const argv = readFileSync(log, 'utf8').trim()
    expect(`${found.at(-1)} ${argv.replace(/\S+\/fdb\.cluster/, 'FILE')}`).toBe(
      `${expected} --knob_http_verbose_level=1`,
    )
  })
})

describe('an unsafe argument of a backup', () => {
  const tools = toolsWith(() => Promise.reject(new Error('the tool was started')))
  const url = 'blobstore://account@127.0.0.1:9000/name?bucket=b'

  it.each([
    [
      'a URL with a secret',
      () => tools.startBackup({ url: 'blobstore://key:secret@127.0.0.1/name', tag: 'default' }, {}),
    ],
    ['a URL that is an option', () => tools.startBackup({ url: '--help', tag: 'default' }, {})],
    ['a tag that is an option', () => tools.startBackup({ url, tag: '-z' }, {})],
    ['a key with a space', () => tools.startRestore({ url, keyRanges: [{ start: 'a b', end: 'c' }] })],
    ['a relative key file', () => tools.startBackup({ url, tag: 'default' }, { encryptionKeyPath: '-k' })],
  ])('is refused before the tool starts: %s', async (_, call) => {
    await expect(call()).rejects.toMatchObject({ kind: 'refused' })
  })

  it.each(['--knob_a=b c', '-x', '--cluster_file=x'])('is refused as a knob: %s', (knob) => {
    expect(() => toolsWith(() => Promise.resolve(''), [knob])).toThrow('expected --knob_NAME=VALUE')
  })
})
