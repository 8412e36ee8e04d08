// Tests sub-installations that a user deletes, or whose parent is removed, at any time of a job: no sub-installation
// waits forever, and the next job recreates it.
// Source: spec/landscaper.md 2.3 "CleanupOrphaned", 2.4, 2.5; docs/sub-installations.md "Order".

import { describe, expect, it, vi } from 'vitest'
import { FINALIZER, installation, type LsObject, OPERATION } from '../support/cluster/cluster.ts'
import { Deployer } from '../support/landscaper/deployer.ts'
import { useStage } from '../support/pawl/stage.ts'
import { deploying, exportingData, sub, subsOf, untilSub } from '../support/landscaper/sub-installations.ts'
import { conditionOf } from '../support/cluster/kstatus.ts'

const stage = useStage('subs-by-hand')
const MOCK = 'landscaper.gardener.cloud/mock'
const PATIENT = { timeout: 60_000, interval: 100 }
// For Kubernetes' garbage collector, which pauses for a while when other tests create and delete CRDs.
const COLLECTED = { timeout: 120_000, interval: 100 }

/** `app` imports an export of `db`. @param db type of the item of `db`. @param app type of the item of `app`. */
function pair(db: string, app = db): readonly object[] {
  const exporter = sub('db', {
    exports: { data: [{ name: 'address', dataRef: 'address' }] },
    blueprint: { ...deploying({ name: 'server', type: db }), ...exportingData('address', 'here') },
  })
  const importer = sub('app', {
    imports: { data: [{ name: 'address', dataRef: 'address' }] },
    blueprint: {
      imports: [{ name: 'address', type: 'data', schema: {} }],
      ...deploying({ name: 'web', type: app }),
    },
  })
  return [importer, exporter]
}

function rootOf(name: string, subinstallations: readonly object[]) {
  return installation(name, [], { blueprint: { subinstallations, deployExecutions: [] } })
}

const isIn =
  (phase: string) =>
  ({ status }: LsObject) =>
    status?.phase === phase

const deleteSub = async ({ metadata }: LsObject) => await stage.cluster.delete('installations', metadata.name)

async function runAgain(name: string, before: LsObject): Promise<LsObject> {
  await stage.cluster.trigger(name)
  return await stage.cluster.waitUntilFinished(name, before.status?.jobID)
}

/** Runs `use` with a deployer that handles its own item type. */
async function withDeployer(name: string, use: (type: string, deployer: Deployer) => Promise<void>): Promise<void> {
  const type = `example.org/${name}`
  const deployer = Deployer.start(stage.cluster, type)
  try {
    await use(type, deployer)
  } finally {
    await deployer.stop()
  }
}

describe.concurrent('a sub-installation that a user deletes', () => {
  it.each([
    ['waits for a sibling', 'app', 'Init'],
    ['runs', 'db', 'Progressing'],
  ])('while it %s ends its job, and is recreated by the next job', async (_, deleted, phase) => {
    const { cluster } = stage
    const name = `midway-${deleted}`
    await withDeployer(name, async (type, deployer) => {
      deployer.install = () => 'wait'
      await cluster.create(rootOf(name, pair(type)), 'installations')
      await untilSub(stage.cluster, name, 'db', isIn('Progressing'))
      const one = await untilSub(stage.cluster, name, deleted, isIn(phase))
      await deleteSub(one)
      deployer.install = () => 'done'
      const first = await cluster.waitUntilFinished(name)
      expect(first.status).toMatchObject({ phase: 'Succeeded' })
      const second = await runAgain(name, first)
      expect(second.status).toMatchObject({ phase: 'Succeeded' })
      const anew = await untilSub(stage.cluster, name, deleted, isIn('Succeeded'))
      expect(anew.metadata.uid).not.toBe(one.metadata.uid)
    })
  })

  it('before it gets the current job is uninstalled; the job fails, and the next job recreates the sub-installation', async () => {
    const { cluster } = stage
    await withDeployer('before', async (type, deployer) => {
      const orphan = sub('orphan', { blueprint: deploying({ name: 'slow', type }) })
      await cluster.create(rootOf('before', [...pair(MOCK), orphan]), 'installations')
      const first = await cluster.waitUntilFinished('before')
      expect(first.status).toMatchObject({ phase: 'Succeeded' })
      deployer.uninstall = () => 'wait'
      await cluster.patch('installations', 'before', { spec: rootOf('before', pair(MOCK)).spec })
      await cluster.trigger('before')
      await cluster.waitUntil('installations', 'before', (one) => one?.status?.phase === 'CleanupOrphaned')
      const db = await untilSub(stage.cluster, 'before', 'db', () => true)
      await deleteSub(db)
      await cluster.waitUntilGone(db.metadata.name)
      deployer.uninstall = () => 'done'
      const second = await cluster.waitUntilFinished('before', first.status?.jobID)
      const missed = `installation ${db.metadata.name} is gone; expected Succeeded`
      expect(second.status).toMatchObject({
        phase: 'Failed',
        lastError: { reason: 'children failed', message: expect.stringContaining(missed) as string },
      })
      const missing = { status: 'False', reason: 'SubInstallationsNotFound' }
      expect(conditionOf(second, 'EnsureSubInstallations')).toMatchObject(missing)
      const third = await runAgain('before', second)
      expect(third.status).toMatchObject({ phase: 'Succeeded' })
      expect([...(await subsOf(cluster, 'before')).keys()].sort()).toEqual(['app', 'db'])
    })
  })

  it('between two jobs stays until the next job, which uninstalls and recreates the sub-installation', async () => {
    const { cluster, pawl } = stage
    await withDeployer('idle', async (type) => {
      await cluster.create(rootOf('between', pair(type)), 'installations')
      const first = await cluster.waitUntilFinished('between')
      expect(first.status).toMatchObject({ phase: 'Succeeded' })
      const before = await subsOf(cluster, 'between')
      for (const one of before.values()) await deleteSub(one)
      const asked = await untilSub(
        stage.cluster,
        'between',
        'app',
        ({ metadata }) => metadata.deletionTimestamp !== undefined,
      )
      await pawl.waitUntilJournaled(asked)
      await pawl.waitUntilSettled(asked)
      expect((await untilSub(stage.cluster, 'between', 'app', () => true)).status).toMatchObject({
        jobID: first.status?.jobID,
      })
      const second = await runAgain('between', first)
      expect(second.status).toMatchObject({ phase: 'Succeeded' })
      const after = await subsOf(cluster, 'between')
      expect([...after.keys()].sort()).toEqual(['app', 'db'])
      for (const [name, one] of after) expect(one.metadata.uid).not.toBe(before.get(name)?.metadata.uid)
    })
  })
})

describe.concurrent('sub-installations whose parent is gone', () => {
  it('are uninstalled by their own jobs, in no order; a failed deletion is retried when a user triggers it', async () => {
    const { cluster } = stage
    await withDeployer('stuck', async (type, deployer) => {
      deployer.uninstall = () => 'failed'
      await cluster.create(rootOf('orphans', pair(MOCK, type)), 'installations')
      await cluster.waitUntilFinished('orphans')
      const app = await untilSub(stage.cluster, 'orphans', 'app', isIn('Succeeded'))
      await cluster.patch('installations', 'orphans', { metadata: { finalizers: null } })
      await cluster.delete('installations', 'orphans')
      await vi.waitFor(async () => {
        const left = [...(await subsOf(cluster, 'orphans')).values()]
        expect(left.filter(({ metadata }) => metadata.deletionTimestamp === undefined)).toEqual([])
      }, COLLECTED)
      const stuck = await untilSub(stage.cluster, 'orphans', 'app', isIn('DeleteFailed'))
      expect([...(await subsOf(cluster, 'orphans')).keys()]).toContain('app')
      await vi.waitFor(async () => {
        expect([...(await subsOf(cluster, 'orphans')).keys()]).toEqual(['app'])
      }, PATIENT)
      expect(stuck.metadata.uid).toBe(app.metadata.uid)
      deployer.uninstall = () => 'done'
      await cluster.trigger(app.metadata.name)
      await cluster.waitUntilGone(app.metadata.name)
    })
  }, 300_000)

  it('finish the deletion that their parent had started', async () => {
    const { cluster } = stage
    await withDeployer('slow', async (type, deployer) => {
      deployer.uninstall = () => 'wait'
      await cluster.create(rootOf('left', pair(type)), 'installations')
      await cluster.waitUntilFinished('left')
      await cluster.delete('installations', 'left')
      await untilSub(stage.cluster, 'left', 'app', isIn('Deleting'))
      await untilSub(stage.cluster, 'left', 'db', isIn('InitDelete'))
      const root = await cluster.get('installations', 'left')
      expect(root?.metadata.finalizers).toContain(FINALIZER)
      expect(root?.metadata.annotations?.[OPERATION]).toBeUndefined()
      await cluster.patch('installations', 'left', { metadata: { finalizers: null } })
      deployer.uninstall = () => 'done'
      await vi.waitFor(async () => {
        expect((await subsOf(cluster, 'left')).size).toBe(0)
      }, PATIENT)
      await cluster.waitUntilGone('left')
    })
  })
})
