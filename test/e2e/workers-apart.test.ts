// Workers that each handle a part of the controllers and types of deploy items: each runs alone, together they finish jobs, and a job waits for a
// missing worker. Source: seeds/chaos-mesh-controller-rules.txt "Controller should work standalone".

import { beforeAll, describe, expect, it } from 'vitest'

import { API, CHAIN, execution, installation, item, type LsObject, OPERATION } from '../support/cluster/cluster.ts'
import { conditionOf } from '../support/cluster/kstatus.ts'
import { configMap, createTarget, MANIFEST_TYPE, manifestItem } from '../support/landscaper/manifests.ts'
import { useStage } from '../support/pawl/stage.ts'

const WORKERS = {
  installation: ['--only', 'installation', '--deployers', 'mock'],
  execution: ['--only', 'execution', '--deployers', 'mock'],
  mock: ['--only', 'deploy', '--deployers', 'mock'],
  manifest: ['--only', 'deploy', '--deployers', 'kubernetes-manifest'],
} as const
type Worker = keyof typeof WORKERS

const stage = useStage('workers-apart')
const start = async (...names: readonly Worker[]) => {
  await Promise.all(names.map((name) => stage.pawl.startWorker(name, undefined, WORKERS[name])))
}
const stop = async (...names: readonly string[]) => {
  await Promise.all(names.map((name) => stage.pawl.kill(name, 'SIGTERM')))
}
beforeAll(async () => {
  await stop('worker')
  await createTarget(stage.cluster)
  await start('installation', 'execution', 'mock', 'manifest')
})

/** An Installation of a mock item, a manifest item and a mock item, in this order. */
function mixed(name: string, data = 'first') {
  const deployItems = [
    item({ name: 'a' }),
    manifestItem({ name: 'b', manifests: [configMap(name, stage.cluster.namespace, { data })], dependsOn: ['a'] }),
    item({ name: 'c', dependsOn: ['b'] }),
  ]
  const template = JSON.stringify({ deployItems })
  const blueprint = { deployExecutions: [{ name: 'default', type: 'GoTemplate', template }] }
  return installation(name, [], { blueprint })
}

const configMapOf = async (name: string) => await stage.cluster.get('configmaps', name, 'v1')

/** The message that names the deployers for which an Execution waits. */
const missingDeployers = async (name: string) =>
  conditionOf(await stage.cluster.get('executions', name), 'DeployItemsFinished')?.message

/** An item's run can close its row after the run of its Installation. */
const expectRuns = async (object: LsObject, expected: readonly string[]) => {
  await expect.poll(async () => await stage.pawl.runsOf(object), { timeout: 30_000 }).toEqual(expected)
}
const MIXED_RUNS = [
  'deploy on -2-deploy-kubernetes-manifest: Succeeded',
  'installation on -2-installation-mock: Succeeded',
]

describe('a job with items of two workers', () => {
  it('hosts the items of the types that its worker handles; the other items run on the task queue of their type, also during deletion', async () => {
    const { cluster, pawl } = stage
    await cluster.create(mixed('mixed'), 'installations')
    const first = await cluster.waitUntilFinished('mixed')
    expect(first.status?.phase).toBe('Succeeded')
    expect(await cluster.phases('mixed')).toEqual({ a: 'Succeeded', b: 'Succeeded', c: 'Succeeded' })
    expect((await configMapOf('mixed'))?.['data']).toEqual({ data: 'first' })
    expect(await missingDeployers('mixed')).toBe('the job waits for no deployer')
    await pawl.waitUntilSettled(first)
    await expectRuns(first, MIXED_RUNS)

    await cluster.patch('installations', 'mixed', { spec: mixed('mixed', 'second').spec })
    await cluster.trigger('mixed')
    const second = await cluster.waitUntilFinished('mixed', first.status?.jobID)
    expect(second.status?.phase).toBe('Succeeded')
    expect((await configMapOf('mixed'))?.['data']).toEqual({ data: 'second' })
    await pawl.waitUntilSettled(second)
    await expectRuns(second, MIXED_RUNS)

    await cluster.delete('installations', 'mixed')
    await cluster.waitUntilGone('mixed')
    expect(await configMapOf('mixed')).toBeUndefined()
    expect(await cluster.list('deployitems')).toEqual([])
  })
})

describe('jobs while workers are missing', () => {
  it('wait for these workers, say so, can be interrupted, and continue when the workers start', async () => {
    const { cluster, pawl } = stage
    const untilFree = async (name: string, controller: string) => {
      await expect.poll(() => pawl.wakesOf(name), { timeout: 30_000 }).toEqual([`${controller} free`])
    }
    await stop('manifest')
    for (const name of ['missing', 'stopped']) {
      await cluster.create(mixed(name), 'installations')
      await cluster.waitUntilItems(name, ['b'], (one) => one?.status?.jobID !== undefined)
      await untilFree(`${name}-`, 'deploy')
    }
    const message = `items for workers that serve their types (--deployers): b (${MANIFEST_TYPE}); each item waits for the deployer of its type`
    await expect.poll(() => missingDeployers('missing'), { timeout: 30_000 }).toBe(message)
    expect(await cluster.phases('missing')).toEqual({ a: 'Succeeded', b: undefined, c: undefined })
    await cluster.patch('installations', 'stopped', { metadata: { annotations: { [OPERATION]: 'interrupt' } } })
    expect((await cluster.waitUntilFinished('stopped')).status?.phase).toBe('Failed')
    expect(await cluster.phases('stopped')).toEqual({ a: 'Succeeded', b: 'Failed', c: 'Failed' })
    // No deployer has deployed the item "b", so the deletion needs none.
    await cluster.delete('installations', 'stopped')
    await cluster.waitUntilGone('stopped')

    await stop('installation', 'execution')
    await cluster.create(installation('no-installation', CHAIN), 'installations')
    await untilFree('no-installation', 'installation')
    expect((await cluster.get('installations', 'no-installation'))?.status).toBeUndefined()
    await cluster.create(execution('no-execution', CHAIN), 'executions')
    await cluster.patch('executions', 'no-execution', { status: { jobID: 'first' } }, 'status')
    await untilFree('no-execution', 'execution')
    expect(await cluster.items('no-execution')).toEqual(new Map())

    await start('installation', 'execution', 'manifest')
    const missing = await cluster.waitUntilFinished('missing')
    expect(missing.status?.phase).toBe('Succeeded')
    await pawl.waitUntilSettled(missing)
    await expectRuns(missing, MIXED_RUNS)
    expect((await cluster.waitUntilFinished('no-installation')).status?.phase).toBe('Succeeded')
    expect((await cluster.waitUntilFinished('no-execution', undefined, 'executions')).status?.phase).toBe('Succeeded')
    for (const name of ['missing', 'no-installation']) await cluster.delete('installations', name)
    for (const name of ['missing', 'no-installation']) await cluster.waitUntilGone(name)
  }, 240_000)
})

describe('an item that has no Execution', () => {
  it('is deployed and uninstalled by the worker of its type', async () => {
    const { cluster, pawl } = stage
    const { type, target, config } = manifestItem({ name: 'b', manifests: [configMap('alone', cluster.namespace)] })
    const spec = { type, target, config }
    await cluster.create({ apiVersion: API, kind: 'DeployItem', metadata: { name: 'alone' }, spec }, 'deployitems')
    await cluster.patch('deployitems', 'alone', { status: { jobID: 'by-hand' } }, 'status')
    const finished = await cluster.waitUntilFinished('alone', undefined, 'deployitems')
    expect(finished.status?.phase).toBe('Succeeded')
    await pawl.waitUntilSettled(finished)
    expect(await pawl.runsOf(finished)).toEqual(['deploy on -2-deploy-kubernetes-manifest: Succeeded'])
    await cluster.deleteByHand('deployitems', 'alone')
    await cluster.waitUntilGone('alone', 'deployitems')
    expect(await configMapOf('alone')).toBeUndefined()
  })
})
