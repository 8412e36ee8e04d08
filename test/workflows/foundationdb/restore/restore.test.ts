// Source: spec/foundationdb.md 6.6, F66.

import { describe, expect, it } from 'vitest'
import * as activities from '../../../../activities/foundationdb/database/restore-activities.ts'
import { restoreController } from '../../../../workflows/foundationdb/restore/controller.ts'
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

async function pass(backups: MemoryBackups, spec: RestoreSpec = SPEC, connectionString = 'db:id@127.0.0.1:4501') {
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
    status: { connectionString },
  }
  const target: FoundationDBRestore = {
    apiVersion: 'apps.foundationdb.org/v1beta2',
    kind: 'FoundationDBRestore',
    metadata,
    spec,
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
    backups.restore = { state: found }
    const { next } = await pass(backups, spec)
    expect(next.target.status).toMatchObject({ running: true, state: 'queued' })
    await pass(backups, spec)
    expect(backups.commands).toEqual([command])
  })

  it.each([
    { state: 'running', delay: 60_000 },
    { state: 'completed', delay: undefined },
    { state: 'aborted', delay: undefined },
  ])('reports the state $state without another start', async ({ state, delay }) => {
    const backups = new MemoryBackups()
    backups.restore = { state }
    const { next, outcome } = await pass(backups)
    expect(next.target.status).toMatchObject({ running: true, state })
    expect([backups.commands, wishedMs(outcome)]).toEqual([[], delay])
  })

  it('waits for the database', async () => {
    const { outcome } = await pass(new MemoryBackups(), SPEC, '')
    expect(outcome.faults[0]?.message).toContain('FoundationDBCluster "db" has no connection string')
  })
})
