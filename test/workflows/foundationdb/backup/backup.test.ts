// Source: spec/foundationdb.md 6.6, F56 to F65.

import { describe, expect, it, onTestFinished, vi } from 'vitest'
import * as activities from '../../../../activities/foundationdb/database/backup-activities.ts'
import { backupController } from '../../../../workflows/foundationdb/backup/controller.ts'
import type { BackupSpec, FoundationDBBackup } from '../../../../workflows/foundationdb/backup/kind.ts'
import type { BackupState, ObservedDeployment } from '../../../../workflows/foundationdb/backup/pass.ts'
import { BACKUP_FINALIZER } from '../../../../workflows/foundationdb/contract.ts'
import { explainProgress } from '../../../../workflows/foundationdb/explain-progress.ts'
import { type PassCourse, runPass } from '../../../../workflows/kit/testing/index.ts'
import { boundCalls } from '../../../support/foundationdb/call-context.ts'
import { MemoryBackups } from '../../../support/foundationdb/memory-backups.ts'

const SPEC: BackupSpec = {
  version: '7.1.67',
  clusterName: 'db',
  blobStoreConfiguration: { accountName: 'account@host' },
}
const URL = 'blobstore://account@host:443/sample?bucket=fdb-backups'

class World {
  readonly backups = new MemoryBackups()
  readonly writes: string[] = []
  /** Without the Warnings of the kit. */
  readonly events: string[] = []
  target: FoundationDBBackup
  deployment: ObservedDeployment | undefined
  /** Undefined: the FoundationDBCluster does not exist. */
  connectionString: string | undefined = 'db:id@127.0.0.1:4501'

  constructor(spec: Partial<BackupSpec> = {}) {
    const metadata = {
      name: 'sample',
      namespace: 'default',
      uid: 'uid',
      resourceVersion: '1',
      generation: 1,
      creationTimestamp: '2026-01-01T00:00:00Z',
    }
    this.target = {
      apiVersion: 'apps.foundationdb.org/v1beta2',
      kind: 'FoundationDBBackup',
      metadata,
      spec: { ...SPEC, ...spec },
    }
  }

  change(spec: Partial<BackupSpec>): void {
    const { metadata } = this.target
    this.target = {
      ...this.target,
      metadata: { ...metadata, generation: metadata.generation + 1 },
      spec: { ...this.target.spec, ...spec },
    }
  }

  delete(): void {
    const metadata = {
      ...this.target.metadata,
      deletionTimestamp: '2026-01-02T00:00:00Z',
      finalizers: [BACKUP_FINALIZER],
    }
    this.target = { ...this.target, metadata }
  }

  get status() {
    return this.target.status ?? {}
  }

  async pass(): Promise<PassCourse<BackupState, FoundationDBBackup>> {
    const cluster = {
      apiVersion: 'apps.foundationdb.org/v1beta2',
      kind: 'FoundationDBCluster',
      metadata: { name: 'db', namespace: 'default' },
      spec: { version: '7.1.67' },
      status: { connectionString: this.connectionString, configured: true },
    }
    const { backups } = this
    const course = await runPass(backupController, {
      target: this.target,
      state: {
        deployment: this.deployment,
        cluster: this.connectionString === undefined ? undefined : cluster,
      } as never,
      calls: boundCalls(activities, { openBackups: () => backups }),
    })
    this.writes.push(...course.writes.map(({ verb, object }) => `${verb} ${object.kind}`))
    const events = course.events.filter(({ type }) => type === 'Normal')
    this.events.push(...events.map(({ reason, message }) => `${reason} ${message}`))
    this.target = course.next.target
    this.deployment = withReadyAgents(course.next.state.deployment)
    this.workAsAgents()
    return course
  }

  /** The running backup can be restored. */
  private workAsAgents(): void {
    const { backups, target } = this
    if (!backups.status.isRunning || backups.status.isPaused) return
    const isOnce = target.spec.backupMode === 'oneTime'
    backups.status = { ...backups.status, isRestorable: true, ...(isOnce && { state: 'Completed', isRunning: false }) }
  }

  /** Runs passes until the generation is reconciled. @returns the commands since the last call. */
  async reconcile(): Promise<readonly string[]> {
    for (let passes = 0; passes < 5; passes++) {
      const { ended } = await this.pass()
      if (ended !== undefined) return this.backups.commands.splice(0)
    }
    throw new Error(`not reconciled: ${JSON.stringify(this.status)}`)
  }
}

/** Stands for the Deployment's controller: all agents are ready. */
function withReadyAgents(deployment: ObservedDeployment | undefined): ObservedDeployment | undefined {
  if (deployment === undefined) return undefined
  const { replicas = 0 } = deployment['spec'] as { readonly replicas?: number }
  return {
    ...deployment,
    metadata: { ...deployment.metadata, generation: 1 },
    status: { observedGeneration: 1, readyReplicas: replicas, updatedReplicas: replicas },
  }
}

async function reconciled(spec: Partial<BackupSpec> = {}): Promise<World> {
  const world = new World(spec)
  await world.reconcile()
  world.writes.length = 0
  return world
}

describe('a FoundationDBBackup', () => {
  it('F56 creates agents and starts the backup once', async () => {
    const world = new World()
    expect(await world.reconcile()).toEqual([`start ${URL} default 864000 continuous`])
    expect(world.writes).toEqual(['apply Deployment'])
    expect(world.status).toMatchObject({
      agentCount: 2,
      deploymentConfigured: true,
      backupDetails: { url: URL, running: true, paused: false, restorable: true, tag: 'default', snapshotTime: 864000 },
      generations: { reconciled: 1 },
    })
  })

  it('causes no write and no command when nothing has changed', async () => {
    const world = await reconciled()
    const course = await world.pass()
    expect([world.backups.commands, course.writes, course.ended]).toEqual([[], [], 'Converged'])
  })

  it('reads a restorable backup again after a minute, and writes the time of each change of its restorable point', async () => {
    const world = await reconciled()
    const after = async (restorableVersion: number) => {
      world.backups.status = { ...world.backups.status, restorableVersion }
      const { outcome } = await world.pass()
      return [outcome.againMs, world.status.backupDetails?.lastRestorableVersionUpdateTime]
    }
    vi.useFakeTimers({ toFake: ['Date'], now: Date.parse('2026-01-01T12:00:00Z') })
    onTestFinished(() => void vi.useRealTimers())
    const first = '2026-01-01T12:00:00.000Z'
    expect(await after(7)).toEqual([60_000, first])
    vi.setSystemTime(Date.parse('2026-01-01T12:01:00Z'))
    expect(await after(7)).toEqual([60_000, first])
    expect(await after(9)).toEqual([60_000, '2026-01-01T12:01:00.000Z'])
    expect(world.status.generations).toEqual({ reconciled: 1 })
  })

  it('F57 deletes the agents with agentCount 0', async () => {
    const world = await reconciled()
    world.change({ agentCount: 0 })
    expect(await world.reconcile()).toEqual([])
    expect(world.writes).toEqual(['remove Deployment'])
    expect(world.status).toMatchObject({ agentCount: 0, deploymentConfigured: true, generations: { reconciled: 2 } })
  })

  it.each([
    { scenario: 'F58 discontinues', change: { backupState: 'Stopped' }, commands: ['discontinue default'] },
    { scenario: 'F59 pauses', change: { backupState: 'Paused' }, commands: ['pause'] },
    { scenario: 'F60 modifies', change: { snapshotPeriodSeconds: 100 }, commands: ['modify 100'] },
  ] as const)('$scenario a running backup with $change', async ({ change, commands }) => {
    const world = await reconciled()
    world.change(change)
    expect(await world.reconcile()).toEqual(commands)
    expect(world.writes).toEqual([])
  })

  it('F58 discontinues once, although its agents need long for the end', async () => {
    const world = await reconciled()
    world.change({ backupState: 'Stopped' })
    await world.pass()
    world.backups.status = { ...world.backups.status, isRunning: true, isStopping: true }
    await world.pass()
    expect(world.backups.commands).toEqual(['discontinue default'])
    expect(world.status.generations).toMatchObject({ needsBackupStop: 2 })
  })

  it('F59 resumes a paused backup', async () => {
    const world = await reconciled()
    world.change({ backupState: 'Paused' })
    await world.reconcile()
    world.change({ backupState: 'Running' })
    expect(await world.reconcile()).toEqual(['resume'])
  })

  it('F61 updates the Deployment for changed metadata only', async () => {
    const world = await reconciled()
    world.change({ backupDeploymentMetadata: { labels: { team: 'a' } } })
    expect(await world.reconcile()).toEqual([])
    expect(world.writes).toEqual(['apply Deployment'])
    expect(world.deployment?.metadata.labels?.['team']).toBe('a')
  })

  it.each([
    { deletionPolicy: 'noop', commands: [] },
    { deletionPolicy: 'stop', commands: ['abort default'] },
    { deletionPolicy: 'cleanup', commands: ['abort default', `delete ${URL}`] },
  ] as const)(
    'F62 with deletionPolicy $deletionPolicy runs $commands when it is deleted',
    async ({ deletionPolicy, commands }) => {
      const world = await reconciled({ deletionPolicy })
      world.delete()
      const course = await world.pass()
      expect([world.backups.commands, course.finalizer, course.ended]).toEqual([commands, 'taken off', 'Deleted'])
    },
  )

  it.each([
    { spec: {}, finalizer: undefined },
    { spec: { deletionPolicy: 'noop' }, finalizer: undefined },
    { spec: { deletionPolicy: 'stop', backupType: 'unmanaged' }, finalizer: undefined },
    { spec: { deletionPolicy: 'stop' }, finalizer: 'put on' },
    { spec: { deletionPolicy: 'cleanup' }, finalizer: 'put on' },
  ] as const)('F62 with $spec has a finalizer only if its deletion ends the backup', async ({ spec, finalizer }) => {
    expect((await new World(spec).pass()).finalizer).toBe(finalizer)
  })

  it('F62 loses its finalizer when the policy becomes noop', async () => {
    const world = await reconciled({ deletionPolicy: 'stop' })
    world.change({ deletionPolicy: 'noop' })
    expect(await world.pass()).toMatchObject({ finalizer: 'taken off', ended: 'Converged' })
    expect(world.target.metadata.finalizers).toEqual([])
  })

  it('F62 keeps its finalizer while the database does not answer, and reports that once', async () => {
    const world = await reconciled({ deletionPolicy: 'stop' })
    world.delete()
    world.events.length = 0
    world.backups.failure = 'fdbbackup abort: killed after its time-out'
    expect((await world.pass()).ended).toBeUndefined()
    await world.pass()
    const message = 'EndDeletedBackup: fdbbackup abort: killed after its time-out'
    expect(world.events).toEqual([`ReconciliationTerminatedEarly ${message}`])
    expect(explainProgress(world.target)).toEqual({ phase: 'Reconciled', summary: message })
  })

  it.each([
    { deletionPolicy: 'stop', commands: [] },
    { deletionPolicy: 'cleanup', commands: [`delete ${URL}`] },
  ] as const)('F62 with deletionPolicy $deletionPolicy runs $commands when its cluster is gone', async (given) => {
    const world = await reconciled({ deletionPolicy: given.deletionPolicy })
    world.delete()
    world.connectionString = undefined
    expect((await world.pass()).ended).toBe('Deleted')
    expect(world.backups.commands).toEqual(given.commands)
  })

  it('F63 with another tag is an error, and the old backup is untouched', async () => {
    const world = await reconciled()
    world.change({ tag: 'other' })
    const { outcome } = await world.pass()
    expect(outcome.faults[0]?.message).toContain('spec.tag: found "other"; expected "default"')
    expect(world.backups.commands).toEqual([])
  })

  it('F64 of type unmanaged has agents only', async () => {
    const world = new World({ backupType: 'unmanaged' })
    expect(await world.reconcile()).toEqual([])
    expect(world.writes).toEqual(['apply Deployment'])
  })

  it('F65 of mode oneTime does not start again when it is restorable', async () => {
    const world = new World({ backupMode: 'oneTime' })
    expect(await world.reconcile()).toEqual([`start ${URL} default 864000`])
    expect(world.status.backupDetails).toMatchObject({ running: false, restorable: true })
    expect(await world.reconcile()).toEqual([])
  })

  it('names the blocked step in one Event and in its explanation, and reports the reconciled generation once', async () => {
    const world = new World()
    world.connectionString = ''
    await world.pass()
    await world.pass()
    const problem = 'StartBackup: FoundationDBCluster "db" has no database; wait until it is available, or create it'
    expect(world.events).toEqual([`ReconciliationTerminatedEarly ${problem}`])
    expect(explainProgress(world.target)).toEqual({ phase: 'Reconciling', summary: problem })
    world.connectionString = 'db:id@127.0.0.1:4501'
    expect(await world.reconcile()).toHaveLength(1)
    await world.pass()
    expect(world.events.slice(1)).toEqual(['ReconciliationComplete Reconciled generation 1'])
    expect(explainProgress(world.target)).toEqual({ phase: 'Reconciled' })
  })

  it('waits for its agents, and names their Deployment', async () => {
    const world = new World({ agentCount: 3 })
    await world.pass()
    expect(explainProgress(world.target).summary).toBe(
      'UpdateBackupStatus (again): Deployment "sample-backup-agents" has 0 of 3 agents ready; check its Pods',
    )
  })

  it('with a spec that a webhook would reject runs no command', async () => {
    const world = new World({ blobStoreConfiguration: { accountName: 'key:secret@host' } })
    await world.pass()
    expect([world.backups.commands, world.writes]).toEqual([[], []])
    expect(explainProgress(world.target).summary).toContain('spec.blobStoreConfiguration.accountName: found')
  })
})
