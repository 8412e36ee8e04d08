// Tests `kubectl delete` with each `--cascade`, while Kubernetes' garbage collector runs.
// Source: docs/operations.md "Ways of deleting".

import { describe, expect, it, vi } from 'vitest'
import { createTarget, manifestItem, configMap } from '../support/landscaper/manifests.ts'
import { API, CHAIN, type Cluster, installation, type Item, type LsObject } from '../support/cluster/cluster.ts'
import { Deployer } from '../support/landscaper/deployer.ts'
import { useStage } from '../support/pawl/stage.ts'
import { deploying, sub, subsOf } from '../support/landscaper/sub-installations.ts'
import { resourcePath } from '../../activities/kube/resource-path.ts'

const NAMESPACE = 'cascade'
// Permits the registry address of a test, at which no server listens.
const stage = useStage(NAMESPACE, () => Promise.resolve({ workerFlags: ['--target-allow', '127.0.0.1,localhost'] }))

type Cascade = 'Foreground' | 'Orphan'

async function remove({ kube, namespace }: Cluster, plural: string, name: string, cascade: Cascade): Promise<void> {
  await kube.request('DELETE', resourcePath({ apiVersion: API, plural }, namespace, name), {
    body: { apiVersion: 'v1', kind: 'DeleteOptions', propagationPolicy: cascade },
  })
}

const TREE = {
  subinstallations: [
    sub('outer', {
      blueprint: {
        ...deploying({ name: 'high' }),
        subinstallations: [sub('inner', { blueprint: deploying({ name: 'low' }) })],
      },
    }),
  ],
}

/** The uids of an Installation's Execution and items, and of its sub-installations with their own objects. */
async function uidsOf(cluster: Cluster, name: string): Promise<Uids> {
  const [execution, items, subs] = await Promise.all([
    cluster.get('executions', name),
    cluster.items(name),
    subsOf(cluster, name),
  ])
  const below = await Promise.all([...subs.values()].map(({ metadata }) => uidsOf(cluster, metadata.name)))
  const own = [...items, ...subs].map(([called, { metadata }]) => [called, metadata.uid] as const)
  return Object.assign(
    { execution: execution?.metadata.uid, ...Object.fromEntries(own) },
    ...below.map(prefixed),
  ) as Uids
}

type Uids = Readonly<Record<string, string | undefined>>

const prefixed = (uids: Uids, index: number) =>
  Object.fromEntries(Object.entries(uids).map(([key, uid]) => [`${index}.${key}`, uid]))

async function run(name: string, items: readonly Item[], blueprint: object = {}): Promise<LsObject> {
  await stage.cluster.create(installation(name, items, { blueprint }), 'installations')
  const finished = await stage.cluster.waitUntilFinished(name)
  expect(finished.status).toMatchObject({ phase: 'Succeeded' })
  return finished
}

describe.concurrent('an installation that is deleted with --cascade=orphan', () => {
  it('leaves its Execution, items and sub-installations, which the next installation of its name takes over', async () => {
    const { cluster, pawl } = stage
    const old = await run('kept', CHAIN, TREE)
    const before = await uidsOf(cluster, 'kept')
    await remove(cluster, 'installations', 'kept', 'Orphan')
    await cluster.waitUntilGone('kept')
    await pawl.waitUntilSettled(old)
    const execution = await cluster.get('executions', 'kept')
    expect(execution?.metadata).toMatchObject({ uid: before['execution'] })
    expect(execution?.metadata.deletionTimestamp ?? execution?.metadata.ownerReferences).toBeUndefined()
    expect(await uidsOf(cluster, 'kept')).toEqual(before)

    await run('kept', [...CHAIN, { name: 'more' }], TREE)
    const { more, ...after } = await uidsOf(cluster, 'kept')
    expect(after).toEqual(before)
    expect(more).toBeDefined()
    await cluster.delete('installations', 'kept')
    await cluster.waitUntilGone('kept')
    expect(await uidsOf(cluster, 'kept')).toEqual({})
  })

  it('leaves an Execution that uninstalls its items when it is deleted, as a sub-installation does', async () => {
    const { cluster } = stage
    const uninstalled: string[] = []
    const uninstall = ({ metadata }: LsObject) => {
      uninstalled.push(metadata.name)
      return 'done' as const
    }
    const deployer = Deployer.start(cluster, 'test/orphan', { uninstall })
    await run('parted', [{ name: 'only', type: 'test/orphan' }], TREE)
    const item = (await cluster.items('parted')).get('only')
    const outer = (await subsOf(cluster, 'parted')).get('outer')?.metadata.name ?? ''
    await remove(cluster, 'installations', 'parted', 'Orphan')
    await cluster.waitUntilGone('parted')
    await cluster.delete('executions', 'parted')
    await cluster.delete('installations', outer)
    await Promise.all([cluster.waitUntilGone('parted', 'executions'), cluster.waitUntilGone(outer)])
    expect(uninstalled).toEqual([item?.metadata.name])
    expect([await cluster.items('parted'), await subsOf(cluster, outer)]).toEqual([new Map(), new Map()])
    await deployer.stop()
  })

  it('uninstalls everything when its deletion had begun before', async () => {
    const { cluster } = stage
    const deployer = Deployer.start(cluster, 'test/late', { uninstall: () => 'wait' })
    await run('late', [{ name: 'only', type: 'test/late' }])
    await cluster.delete('installations', 'late')
    await cluster.waitUntil('executions', 'late', (it) => it?.status?.phase === 'Deleting')
    await remove(cluster, 'installations', 'late', 'Orphan')
    await cluster.waitUntil('executions', 'late', (it) => it?.metadata.ownerReferences === undefined)
    deployer.uninstall = () => 'done'
    await Promise.all([cluster.waitUntilGone('late'), cluster.waitUntilGone('late', 'executions')])
    expect(await cluster.items('late')).toEqual(new Map())
    await deployer.stop()
  })
})

describe.concurrent('an execution that is deleted with --cascade=orphan', () => {
  it('leaves items that are uninstalled when they are deleted', async () => {
    const { cluster } = stage
    await run('items', [{ name: 'only' }])
    const item = (await cluster.items('items')).get('only')?.metadata.name ?? ''
    await remove(cluster, 'executions', 'items', 'Orphan')
    await cluster.waitUntil('deployitems', item, (it) => it?.metadata.ownerReferences === undefined)
    await cluster.delete('installations', 'items')
    await cluster.waitUntilGone('items')
    expect((await cluster.get('deployitems', item))?.metadata.deletionTimestamp).toBeUndefined()
    await cluster.delete('deployitems', item)
    await cluster.waitUntilGone(item, 'deployitems')
  })
})

describe.concurrent('an installation that is deleted with --cascade=foreground', () => {
  it('goes with all below it, three levels, and uninstalls by Targets that are being deleted', async () => {
    const { cluster } = stage
    await createTarget(cluster)
    const imported = { imports: { targets: [{ name: 'cluster', target: 'cluster' }] } }
    const imports = {
      imports: [{ name: 'cluster', type: 'target', targetType: 'landscaper.gardener.cloud/kubernetes-cluster' }],
    }
    const items = (name: string) => {
      const item = manifestItem({ name, manifests: [configMap(name, NAMESPACE)] })
      const template = JSON.stringify({ deployItems: [{ ...item, target: { import: 'cluster' } }] })
      return { ...imports, deployExecutions: [{ name: 'items', type: 'GoTemplate', template }] }
    }
    const inner = sub('inner', { ...imported, blueprint: items('low') })
    const outer = sub('outer', { ...imported, blueprint: { ...items('high'), subinstallations: [inner] } })
    const spec = { imports: { targets: [{ name: 'cluster', target: 'here' }] } }
    const blueprint = { ...items('top'), subinstallations: [outer] }
    await cluster.create(installation('front', [], { spec, blueprint }), 'installations')
    expect((await cluster.waitUntilFinished('front')).status).toMatchObject({ phase: 'Succeeded' })
    const maps = async () => (await cluster.list('configmaps', 'v1')).map(({ metadata }) => metadata.name)
    expect(await maps()).toEqual(expect.arrayContaining(['top', 'high', 'low']))
    const copies = (await cluster.list('targets')).filter(({ metadata }) => metadata.name !== 'here')
    expect(copies).toHaveLength(3)

    await remove(cluster, 'installations', 'front', 'Foreground')
    const left = async () => (await maps()).filter((name) => ['top', 'high', 'low'].includes(name))
    await vi.waitFor(async () => expect(await left()).toEqual([]), { timeout: 60_000, interval: 200 })
    await cluster.waitUntilGone('front')
    expect(await subsOf(cluster, 'front')).toEqual(new Map())
  })
})

describe.concurrent('an installation for which nothing was deployed', () => {
  const component = {
    ref: {
      componentName: 'example.com/x',
      version: '1.0.0',
      repositoryContext: { type: 'OCIRegistry', baseUrl: 'http://127.0.0.1:1' },
    },
  }
  const ref = { blueprint: { ref: { resourceName: 'blueprint' } } }

  it.each([
    ['registry', 'RegistryUnavailable', { ...ref, componentDescriptor: component }],
    ['blueprint', 'ERR_CONFIGURATION_PROBLEM', { blueprint: { inline: { filesystem: { 'blueprint.yaml': '{' } } } }],
    [
      'context',
      'ContextNotFound',
      {
        ...ref,
        context: 'missing',
        componentDescriptor: { ref: { componentName: 'example.com/x', version: '1.0.0' } },
      },
    ],
  ])('goes at once when its %s cannot be read', async (name, reason, spec) => {
    const { cluster, pawl } = stage
    const object = { ...installation(name, []), spec }
    await cluster.create(object, 'installations')
    const failed = await cluster.waitUntil('installations', name, (it) => it?.status?.lastError !== undefined)
    expect(failed.status?.lastError).toMatchObject({ reason })
    await cluster.delete('installations', name)
    await cluster.waitUntilGone(name, 'installations', 10_000)
    await pawl.waitUntilSettled(failed)
  })
})
