// A backup of a FoundationDBCluster of three processes, from its creation to a restore, with the agents as processes. The cluster's labels and Service
// change meanwhile.

import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { afterAll, describe, expect, it, vi } from 'vitest'

import { withClusterFile } from '../../activities/foundationdb/database/cluster-file.ts'
import type { KubeObject, ObjectList } from '../../activities/kube/client.ts'
import { isNotFound } from '../../activities/kube/errors.ts'
import type { BackupSpec, FoundationDBBackup } from '../../workflows/foundationdb/backup/kind.ts'
import { BACKUP_FINALIZER } from '../../workflows/foundationdb/contract.ts'
import type { FoundationDBRestore } from '../../workflows/foundationdb/restore/kind.ts'
import { runningProcesses, untilNothingRuns } from '../support/foundationdb/agent-processes.ts'
import { BACKEND, PATIENCE, TEST_LIMIT } from '../support/foundationdb/backend.ts'
import { useDatabases } from '../support/foundationdb/clusters.ts'
import { KeyWriter } from '../support/foundationdb/key-writer.ts'
import { logTools } from '../support/foundationdb/logged-tools.ts'
import {
  blobStoreConfiguration,
  credentialsSecret,
  HAS_OBJECT_STORE,
  isRestorable,
  podTemplateSpec,
} from '../support/foundationdb/object-store.ts'

const run = promisify(execFile)
const API_VERSION = 'apps.foundationdb.org/v1beta2'
const VERSION = '7.1.67'
const [BACKUPS, RESTORES] = ['foundationdbbackups', 'foundationdbrestores']
// A real FoundationDB needs PAWL_FDB_OBJECT_STORE.
const scenario = describe.skipIf(!HAS_OBJECT_STORE)
const tools = logTools([VERSION])
const databases = useDatabases('foundationdb-backup', ['shop'], tools.folder)
const shop = () => databases.of('shop')

const CLUSTER = {
  apiVersion: API_VERSION,
  kind: 'FoundationDBCluster',
  metadata: { name: 'sample' },
  spec: {
    version: VERSION,
    databaseConfiguration: { redundancy_mode: 'single', storage_engine: 'ssd-2', logs: 1 },
    processCounts: { storage: 1, log: 1, stateless: 1 },
    faultDomain: { key: 'foundationdb.org/none' },
    // A changed Pod template must not disturb the database of this file.
    automationOptions: { podUpdateStrategy: 'Delete', deletionMode: 'None', maxConcurrentReplacements: 0 },
  },
}

const backup = (name: string, spec: Partial<BackupSpec>) => ({
  apiVersion: API_VERSION,
  kind: 'FoundationDBBackup',
  metadata: { name },
  spec: { version: VERSION, clusterName: 'sample', agentCount: 1, blobStoreConfiguration, podTemplateSpec, ...spec },
})

let writer: KeyWriter | undefined
afterAll(async () => {
  await writer?.stop()
  tools.remove()
})

const connectionString = async () => (await shop().get('sample')).status?.connectionString ?? ''
const readBackup = async (name = 'nightly') => await shop().read<FoundationDBBackup>(BACKUPS, name)

/** Waits until the backup is reconciled with these details. */
async function untilBackup(details: object, name = 'nightly'): Promise<FoundationDBBackup> {
  return await vi.waitFor(async () => {
    const found = await readBackup(name)
    expect(found.status).toMatchObject({
      generations: { reconciled: found.metadata.generation },
      backupDetails: details,
    })
    return found
  }, PATIENCE)
}

async function changeBackup(spec: Partial<BackupSpec>, details: object): Promise<FoundationDBBackup> {
  await shop().patch('nightly', spec, BACKUPS)
  return await untilBackup(details)
}

/** Undefined if it does not exist. */
async function agents(): Promise<KubeObject | undefined> {
  const path = shop().path('deployments', 'nightly-backup-agents', 'apps/v1')
  return await shop()
    .cluster.kube.request<KubeObject>('GET', path)
    .catch((error: unknown) => {
      if (isNotFound(error)) return undefined
      throw error
    })
}

/** Waits until a restore to the latest version has all keys that have been written before this call. */
async function untilRestorableNow(): Promise<void> {
  const now = Date.now() / 1000
  const env = { ...process.env, ...BACKEND.environment, FDB_SIM_BLOBSTORE: databases.blobStore }
  await vi.waitFor(async () => {
    const { stdout } = await withClusterFile(await connectionString(), ({ file }) =>
      run(tools.fdbbackup(VERSION), ['status', '-C', file, '--json', '-t', 'default'], { env, timeout: 10_000 }),
    )
    const status = JSON.parse(stdout) as { readonly LatestRestorablePoint?: { readonly EpochSeconds: number } }
    expect(status.LatestRestorablePoint?.EpochSeconds).toBeGreaterThan(now)
  }, PATIENCE)
}

async function eventsOf(name: string, reason: string): Promise<readonly unknown[]> {
  const query = { fieldSelector: `reason=${reason},involvedObject.name=${name}` }
  const { items } = await shop().cluster.kube.request<ObjectList>('GET', shop().path('events'), { query })
  return items.map((event) => event['message'])
}

scenario('a FoundationDBBackup', () => {
  it('F56: runs agents and starts the backup once', TEST_LIMIT, async () => {
    await shop().create(CLUSTER)
    await shop().untilReconciled('sample')
    await shop().cluster.kube.request('POST', shop().path('secrets'), { body: credentialsSecret })
    await shop().create(backup('nightly', {}))
    writer = new KeyWriter(tools.fdbcli(VERSION), connectionString)
    const { status, metadata } = await untilBackup({ running: true, paused: false, restorable: true, tag: 'default' })
    expect(status).toMatchObject({ agentCount: 1, deploymentConfigured: true })
    expect(metadata.finalizers).toBeUndefined()
    expect(tools.commands('fdbbackup start')).toHaveLength(1)
    expect(await eventsOf('nightly', 'ReconciliationTerminatedEarly')).toContain(
      'UpdateBackupStatus (again): Deployment "nightly-backup-agents" has 0 of 1 agents ready; check its Pods',
    )
  })

  it('F61: patches the Deployment of its agents for a label, without new Pods', TEST_LIMIT, async () => {
    const before = await agents()
    await changeBackup({ backupDeploymentMetadata: { labels: { team: 'a' } } }, { running: true })
    const after = await agents()
    expect(after?.metadata.labels).toMatchObject({ team: 'a' })
    expect(after?.metadata['generation']).toBe(before?.metadata['generation'])
  })

  it('F59: pauses and resumes once each', TEST_LIMIT, async () => {
    await changeBackup({ backupState: 'Paused' }, { paused: true })
    await changeBackup({ backupState: 'Running' }, { paused: false })
    expect([tools.commands('fdbbackup pause').length, tools.commands('fdbbackup resume').length]).toEqual([1, 1])
  })

  it('F57: deletes the Deployment with agentCount 0, and creates it again', TEST_LIMIT, async () => {
    // For the last test.
    await shop().create(backup('weekly', { deletionPolicy: 'stop', tag: 'weekly' }))
    await changeBackup({ agentCount: 0 }, { running: true })
    expect(await agents()).toBeUndefined()
    const { status } = await changeBackup({ agentCount: 1 }, { running: true })
    expect(status?.agentCount).toBe(1)
  })
})

scenario('the FoundationDBCluster of a backup', () => {
  const team = async (kind: string) =>
    (await shop().objects(kind, 'sample')).map(({ metadata }) => metadata.labels?.['team'])
  const pods = async () => (await shop().objects('pods', 'sample')).map(({ metadata }) => metadata.uid)

  it('F11, F15, F19: patches and deletes objects, but no Pod without permission', TEST_LIMIT, async () => {
    const before = await pods()
    await shop().patch('sample', { routing: { headlessService: true } })
    await vi.waitFor(async () => {
      const { metadata, status } = await shop().get('sample')
      expect(status?.generations?.needsPodDeletion).toBe(metadata.generation)
      expect(await team('services')).toEqual([undefined])
    }, PATIENCE)
    await shop().patch('sample', { labels: { resourceLabels: { team: 'a' } } })
    await vi.waitFor(async () => {
      expect(await team('pods')).toEqual(['a', 'a', 'a'])
      expect(await team('persistentvolumeclaims')).toEqual(['a', 'a'])
      expect(await team('services')).toEqual(['a'])
    }, PATIENCE)
    await shop().patch('sample', { routing: { headlessService: false } })
    await shop().untilReconciled('sample')
    expect(await shop().objects('services', 'sample')).toEqual([])
    expect(await pods()).toEqual(before)
  })
})

scenario('a FoundationDBRestore', () => {
  it('F58, F66: restores the keys of a stopped backup once', TEST_LIMIT, async () => {
    await writer!.stop()
    const { acknowledged } = writer!
    expect(acknowledged.length).toBeGreaterThan(5)
    // A running backup also saves the deletion of the keys.
    await untilRestorableNow()
    await changeBackup({ backupState: 'Stopped' }, { running: false, restorable: true })
    expect(tools.commands('fdbbackup discontinue')).toHaveLength(1)
    await writer!.clear()
    expect(await writer!.readAll()).toEqual([])
    await shop().create({
      apiVersion: API_VERSION,
      kind: 'FoundationDBRestore',
      metadata: { name: 'from-nightly' },
      spec: {
        destinationClusterName: 'sample',
        blobStoreConfiguration: { ...blobStoreConfiguration, backupName: 'nightly' },
      },
    })
    await vi.waitFor(async () => {
      const { status } = await shop().read<FoundationDBRestore>(RESTORES, 'from-nightly')
      expect(status).toMatchObject({ running: true, state: 'completed' })
    }, PATIENCE)
    const found = new Set(await writer!.readAll())
    expect(acknowledged.filter((number) => !found.has(number))).toEqual([])
    expect(tools.commands('fdbrestore start')).toHaveLength(1)
  })
})

scenario('the deletion', () => {
  it('F62: of a backup with deletionPolicy cleanup deletes its files', TEST_LIMIT, async () => {
    const isStored = async (name: string) => await isRestorable(tools.fdbbackup(VERSION), name, databases.blobStore)
    expect(await isStored('nightly')).toBe(true)
    const { metadata } = await changeBackup({ deletionPolicy: 'cleanup' }, { running: false })
    expect(metadata.finalizers).toEqual([BACKUP_FINALIZER])
    await shop().cluster.kube.request('DELETE', shop().path(BACKUPS, 'nightly', API_VERSION))
    await vi.waitFor(async () => await expect(readBackup()).rejects.toSatisfy(isNotFound), PATIENCE)
    expect(await isStored('nightly')).toBe(false)
    expect(await isStored('weekly')).toBe(true)
  })

  it('of the namespace leaves no object and no process of a cluster, a backup and a restore', TEST_LIMIT, async () => {
    await untilBackup({ running: true, tag: 'weekly' }, 'weekly')
    const running = await runningProcesses(databases.state)
    // Of the cluster's three Pods two processes each, and the agent.
    expect(running.length).toBeGreaterThanOrEqual(7)
    await shop().untilDeleted()
    await untilNothingRuns(databases.state, running)
  })
})
