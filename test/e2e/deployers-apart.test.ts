// Workers that share the types of deploy items out among themselves: one hosts those that it serves, and waits for the others as for anybody's.

import { beforeAll, describe, expect, it } from 'vitest'

import { installation, item, type LsObject, OPERATION } from '../support/cluster.ts'
import { configMap, createTarget, MANIFEST_TYPE, manifestItem } from '../support/manifests.ts'
import { useStage } from '../support/stage.ts'

const WORKERS = {
  hosts: ['--only', 'installation,execution', '--deployers', 'mock'],
  mock: ['--only', 'deploy', '--deployers', 'mock'],
  manifest: ['--only', 'deploy', '--deployers', 'kubernetes-manifest'],
}

const stage = useStage('deployers-apart')
const start = async (name: keyof typeof WORKERS) => {
  await stage.pawl.startWorker(name, undefined, WORKERS[name])
}
beforeAll(async () => {
  await stage.pawl.kill('worker', 'SIGTERM')
  await createTarget(stage.cluster)
  await Promise.all((['hosts', 'mock', 'manifest'] as const).map(start))
})

/** Mock, manifest and mock items, one after the other. */
function mixed(name: string, data = 'first') {
  const { namespace } = stage.cluster
  const manifests = [configMap(name, namespace, { data })]
  const items = [
    item({ name: 'a' }),
    manifestItem({ name: 'b', manifests, dependsOn: ['a'] }),
    item({ name: 'c', dependsOn: ['b'] }),
  ]
  const template = JSON.stringify({ deployItems: items })
  return installation(name, [], {
    blueprint: { deployExecutions: [{ name: 'default', type: 'GoTemplate', template }] },
  })
}

const configMapOf = async (name: string) => await stage.cluster.get('configmaps', name, 'v1')

/** What the Execution says of whom it waits for. */
function waitsFor({ status }: LsObject): string | undefined {
  const conditions = (status?.['conditions'] ?? []) as readonly { readonly type: string; readonly message: string }[]
  return conditions.find(({ type }) => type === 'DeployItemsFinished')?.message
}

/** The run of an item closes its row by itself, maybe after that of its Installation. */
const runsAre = async (object: LsObject, expected: readonly string[]) => {
  await expect.poll(async () => await stage.pawl.runsOf(object), { timeout: 30_000 }).toEqual(expected)
}
const ROOTS = ['deploy on -2-deploy-kubernetes-manifest: Succeeded', 'installation on -2-installation-mock: Succeeded']

describe('a job with items of two workers', () => {
  it('hosts those of the types that its run serves; the others are roots on the queue of their type', async () => {
    const { cluster, pawl } = stage
    await cluster.create(mixed('mixed'), 'installations')
    const first = await cluster.finished('mixed')
    expect(first.status?.phase).toBe('Succeeded')
    expect(await cluster.phases('mixed')).toEqual({ a: 'Succeeded', b: 'Succeeded', c: 'Succeeded' })
    expect((await configMapOf('mixed'))?.['data']).toEqual({ data: 'first' })
    const execution = await cluster.get('executions', 'mixed')
    expect(waitsFor(execution!)).toBe('no deployer is waited for')
    await pawl.settled(first)
    await runsAre(first, ROOTS)

    const { spec } = mixed('mixed', 'second')
    await cluster.patch('installations', 'mixed', { spec })
    await cluster.trigger('mixed')
    const second = await cluster.finished('mixed', first.status?.jobID)
    expect(second.status?.phase).toBe('Succeeded')
    expect((await configMapOf('mixed'))?.['data']).toEqual({ data: 'second' })
    await pawl.settled(second)
    await runsAre(second, ROOTS)
  })

  it('takes all of them away when it is deleted', async () => {
    await stage.cluster.delete('installations', 'mixed')
    await stage.cluster.gone('mixed')
    expect(await configMapOf('mixed')).toBeUndefined()
    expect(await stage.cluster.list('deployitems')).toEqual([])
  })
})

describe('a job while the worker of some of its items is missing', () => {
  const waiting = async (name: string) => {
    await stage.cluster.create(mixed(name), 'installations')
    await stage.cluster.untilItems(name, ['b'], (one) => one?.status?.jobID !== undefined)
    await expect.poll(() => stage.pawl.wakesOf(`${name}-`), { timeout: 30_000 }).toEqual(['deploy free'])
  }

  it('waits for it, says so on the Execution, and goes on when it starts', async () => {
    const { cluster, pawl } = stage
    await pawl.kill('manifest', 'SIGTERM')
    await waiting('missing')
    // It is told after the item has its job.
    await expect
      .poll(async () => waitsFor((await cluster.get('executions', 'missing'))!), { timeout: 30_000 })
      .toBe(
        `items for workers that serve their types (--deployers): b (${MANIFEST_TYPE}); each waits for a deployer of its type`,
      )
    expect(await cluster.phases('missing')).toEqual({ a: 'Succeeded', b: undefined, c: undefined })

    await start('manifest')
    const finished = await cluster.finished('missing')
    expect(finished.status?.phase).toBe('Succeeded')
    await pawl.settled(finished)
    await runsAre(finished, ROOTS)
    await cluster.delete('installations', 'missing')
    await cluster.gone('missing')
  })

  it('can be interrupted, and then lets go what nobody has deployed', async () => {
    const { cluster, pawl } = stage
    await pawl.kill('manifest', 'SIGTERM')
    await waiting('stopped')
    await cluster.patch('installations', 'stopped', { metadata: { annotations: { [OPERATION]: 'interrupt' } } })
    expect((await cluster.finished('stopped')).status?.phase).toBe('Failed')
    expect(await cluster.phases('stopped')).toEqual({ a: 'Succeeded', b: 'Failed', c: 'Failed' })
    await cluster.delete('installations', 'stopped')
    await cluster.gone('stopped')
    await start('manifest')
  })
})

describe('an item that has no Execution', () => {
  it('is deployed by the worker of its type', async () => {
    const { cluster, pawl } = stage
    const { type, target, config } = manifestItem({ name: 'b', manifests: [configMap('alone', cluster.namespace)] })
    const apiVersion = 'landscaper.gardener.cloud/v1alpha1'
    await cluster.create(
      { apiVersion, kind: 'DeployItem', metadata: { name: 'alone' }, spec: { type, target, config } },
      'deployitems',
    )
    await cluster.patch('deployitems', 'alone', { status: { jobID: 'by-hand' } }, 'status')
    const finished = await cluster.finished('alone', undefined, 'deployitems')
    expect(finished.status?.phase).toBe('Succeeded')
    await pawl.settled(finished)
    expect(await pawl.runsOf(finished)).toEqual(['deploy on -2-deploy-kubernetes-manifest: Succeeded'])
    await cluster.deleteByHand('deployitems', 'alone')
    await cluster.gone('alone', 'deployitems')
    expect(await configMapOf('alone')).toBeUndefined()
  })
})
