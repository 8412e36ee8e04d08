// The readers of fdbbackup's and fdbrestore's output against the recordings, and the refusal of unsafe arguments.

import { describe, expect, it } from 'vitest'

import {
  backupTools,
  parseBackupStatus,
  parseRestoreStatus,
} from '../../../../activities/foundationdb/database/backup-tools.ts'
import { hasRecordings, recordedCommands } from '../../../support/foundationdb/recordings.ts'

function stdoutOf(number: string): string {
  return recordedCommands(({ name }) => name === `21-backup-restore/${number}`)[0]?.stdout ?? ''
}

describe.skipIf(!hasRecordings)('a recorded status of a backup', () => {
  it.each([
    ['003', { state: undefined, isRunning: false, isPaused: false, url: undefined }],
    ['027', { state: 'Submitted', isRunning: true, isRestorable: false, snapshotPeriodSeconds: undefined }],
    ['031', { state: 'Running', isRunning: true, isRestorable: false, snapshotPeriodSeconds: 20 }],
    ['041', { state: 'RunningDifferentially', isRunning: true, isRestorable: true }],
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

describe('an unsafe argument of a backup', () => {
  const tools = backupTools({
    tools: {
      find: () => Promise.reject(new Error('the tool was started')),
      isSupported: () => Promise.resolve(true),
      protocolOf: () => Promise.resolve(''),
    },
    address: { connectionString: 'a:b@127.0.0.1:4501', version: '7.1.67' },
    signal: new AbortController().signal,
    environment: {},
  })
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
})
