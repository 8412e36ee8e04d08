// Source: spec/foundationdb.md 6.6, F66.

import { describe, expect, it } from 'vitest'
import * as activities from '../../../../activities/foundationdb/database/restore-activities.ts'
import { restoreController } from '../../../../workflows/foundationdb/restore/controller.ts'
import { explainRestore } from '../../../../workflows/foundationdb/restore/explain.ts'
import type { FoundationDBRestore, RestoreSpec } from '../../../../workflows/foundationdb/restore/kind.ts'
import { wishedMs } from '../../../../workflows/kit/index.ts'
import { runPass } from '../../../../workflows/kit/testing/index.ts'
import { boundCalls } from '../../../support/foundationdb/call-context.ts'
import { MemoryBackups } from '../../../support/foundationdb/memory-backups.ts'

const SPEC: RestoreSpec = {
  destinationClusterName: 'db',
  blobStoreConfiguration: { accountName: 'account@host', backupName: 'sample' },
}
const URL = 'blobstore://account@host:443/sample?bucket=fdb-backups'

interface Given {
  readonly spec?: RestoreSpec
  readonly status?: FoundationDBRestore['status']
  readonly connectionString?: string
}

async function pass(backups: MemoryBackups, given: Given = {}) {
  const { spec = SPEC, status, connectionString = 'db:id@127.0.0.1:4501' } = given
  const metadata = {
    name: 'restore',
    namespace: 'default',
    uid: 'uid',
    resourceVersion: '1',
    generation: 1,
    creationTimestamp: '2026-01-01T00:00:00Z',
  }
  const cluster = {
    apiVersion: 'apps.foundationdb.org/v1beta2',
    kind: 'FoundationDBCluster',
    metadata: { name: 'db', namespace: 'default' },
    spec: { version: '7.1.67' },
    status: { connectionString, configured: true },
  }
  const target: FoundationDBRestore = {
    apiVersion: 'apps.foundationdb.org/v1beta2',
    kind: 'FoundationDBRestore',
    metadata,
    spec,
    ...(status !== undefined && { status }),
  }
  return await runPass(restoreController, {
    target,
    state: { cluster } as never,
    calls: boundCalls(activities, { openBackups: () => backups }),
  })
}

describe('F66 a FoundationDBRestore', () => {
  it.each([
    { found: undefined, spec: SPEC, command: `restore ${URL} [] undefined` },
    {
      found: 'unitialized',
      spec: {
        ...SPEC,
        keyRanges: [
          { start: 'a', end: 'b' },
          { start: 'c', end: 'd' },
        ],
        backupVersion: 7,
      },
      command: `restore ${URL} [a-b c-d] 7`,
    },
  ])('starts once when the database reports $found', async ({ found, spec, command }) => {
    const backups = new MemoryBackups()
    backups.restore = { state: found, url: undefined }
    const { next } = await pass(backups, { spec })
    expect(next.target.status).toMatchObject({ running: true, state: 'queued' })
    await pass(backups, { spec })
    expect(backups.commands).toEqual([command])
  })

  it.each([
    {
      state: 'running',
      delay: 60_000,
      explanation: { phase: 'Restoring', summary: 'StartRestore: the restore is running' },
    },
    { state: 'completed', delay: undefined, explanation: { phase: 'Completed' } },
    {
      state: 'aborted',
      delay: undefined,
      explanation: {
        phase: 'Aborted',
        summary:
          'StartRestore: the restore was aborted; restore into another cluster, or start the restore with fdbrestore',
      },
    },
  ])('reports the state $state without another start', async ({ state, delay, explanation }) => {
    const backups = new MemoryBackups()
    backups.restore = { state, url: undefined }
    const { next, outcome } = await pass(backups)
    expect(next.target.status).toMatchObject({ running: true, state })
    expect([backups.commands, wishedMs(outcome)]).toEqual([[], delay])
    expect(explainRestore(next.target)).toEqual(explanation)
  })

  it('shows a state that the kind does not have as Unknown', async () => {
    const backups = new MemoryBackups()
    backups.restore = { state: 'paused', url: undefined }
    expect((await pass(backups)).next.target.status?.state).toBe('Unknown')
  })

  const other = 'blobstore://account@host:443/other?bucket=fdb-backups'
  it.each([
    { title: 'starts after the completed restore of another backup', state: 'completed', url: other, starts: 1 },
    { title: 'starts after the aborted restore of another backup', state: 'aborted', url: other, starts: 1 },
    { title: 'waits for the end of the restore of another backup', state: 'running', url: other, starts: 0 },
    { title: 'does not repeat a completed restore of its backup', state: 'completed', url: URL, starts: 0 },
    {
      title: 'does not start again when another restore has followed',
      state: 'completed',
      url: other,
      status: { running: true, state: 'completed' as const },
      starts: 0,
    },
  ])('$title', async ({ state, url, status, starts }) => {
    const backups = new MemoryBackups()
    backups.restore = { state, url }
    await pass(backups, status === undefined ? {} : { status })
    expect(backups.commands).toHaveLength(starts)
  })

  it('reports its end in one Event', async () => {
    const backups = new MemoryBackups()
    const first = await pass(backups)
    expect(first.events).toMatchObject([
      { reason: 'ReconciliationTerminatedEarly', message: 'StartRestore: the restore is queued' },
    ])
    backups.restore = { state: 'completed', url: URL }
    const second = await pass(backups, { status: first.next.target.status })
    expect(second.events).toMatchObject([{ reason: 'ReconciliationComplete' }])
    const third = await pass(backups, { status: second.next.target.status })
    expect([third.events, third.status]).toEqual([[], {}])
  })

  it('waits for the database', async () => {
    const { outcome, next } = await pass(new MemoryBackups(), { connectionString: '' })
    expect([outcome.faults, wishedMs(outcome)]).toEqual([[], 30_000])
    expect(explainRestore(next.target).summary).toContain('FoundationDBCluster "db" has no database')
  })

  it('with a spec that a webhook would reject runs no command', async () => {
    const backups = new MemoryBackups()
    const { outcome } = await pass(backups, { spec: { ...SPEC, encryptionKeyPath: '/keys/../etc/passwd' } })
    expect(outcome.faults[0]?.message).toContain('spec.encryptionKeyPath: found')
    expect(backups.commands).toEqual([])
  })
})
