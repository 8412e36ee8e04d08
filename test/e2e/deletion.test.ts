// Deletions: with each `--cascade` of kubectl while Kubernetes' garbage collector runs, in reverse order, of items that
// cannot be uninstalled, of orphaned items, and of objects whose finalizers a user removed.
// Source: docs/guides/delete.md "Ways of deleting", seeds/landscaper-execution-controller.txt "Deleting an Execution",
// spec/landscaper.md 2.4, 2.8.

import { describe, expect, it, vi } from 'vitest'
import { resourcePath } from '../../activities/kube/resource-path.ts'
import {
  API,
  CHAIN,
  type Cluster,
  installation,
  type Item,
  type LsObject,
  waitingItem,
} from '../support/cluster/cluster.ts'
import { Deployer } from '../support/landscaper/deployer.ts'
import { configMap, createTarget, manifestItem } from '../support/landscaper/manifests.ts'
import { deploying, sub, subsOf } from '../support/landscaper/sub-installations.ts'
import { useStage } from '../support/pawl/stage.ts'

const NAMESPACE = 'deletion'
// Permits the registry address of a test, at which no server listens.
const stage = useStage(NAMESPACE, () => Promise.resolve({ workerFlags: ['--target-allow', '127.0.0.1,localhost'] }))
// Kubernetes' garbage collector deletes objects whose owner does not exist. It pauses while other tests create or
// delete CRDs.
const COLLECTED_MS = 120_000
const WITHOUT_UNINSTALL = 'landscaper.gardener.cloud/delete-without-uninstall'

async function run(name: string, items: readonly Item[], blueprint: object = {}): Promise<LsObject> {
  await stage.cluster.create(installation(name, items, { blueprint }), 'installations')
  const finished = await stage.cluster.waitUntilFinished(name)
  expect(finished.status).toMatchObject({ phase: 'Succeeded' })
  return finished
}

async function left(name: string): Promise<readonly string[]> {
  const kinds = ['installations', 'executions', 'deployitems'] as const
  const lists = await Promise.all(kinds.map(async (plural) => ({ plural, all: await stage.cluster.list(plural) })))
  return lists.flatMap(({ plural, all }) =>
    all.filter(({ metadata }) => metadata.name.startsWith(name)).map(({ metadata }) => `${plural}/${metadata.name}`),
  )
}

describe.concurrent('an installation that is deleted', () => {
  it('is deleted with all its objects, the items in reverse order', async () => {
    const { cluster, pawl } = stage
    await run('chain', CHAIN)
    const items = await cluster.items('chain')
    await cluster.delete('installations', 'chain')
    await cluster.waitUntilGone('chain')
    expect(await left('chain')).toEqual([])
    const names = new Map([...items].map(([name, { metadata }]) => [metadata.uid ?? '', name]))
    // The journal has the deletions from the responses to the removals of the finalizers; later watch events are
    // duplicates.
    const gone = async () => {
      const rows = await pawl.db
        .selectFrom('watch_event')
        .select('uid')
        .where('uid', 'in', [...names.keys()])
        .where('type', '=', 'DELETED')
        .where('source', '=', 'write')
        .orderBy('seq')
        .execute()
      return rows.map(({ uid }) => names.get(uid))
    }
    await expect.poll(gone, { timeout: 30_000 }).toEqual(['c', 'b', 'a'])
  })

  it('is deleted at once when it never ran', async () => {
    await stage.cluster.create(installation('new', CHAIN, { triggered: false }), 'installations')
    await stage.cluster.delete('installations', 'new')
    await stage.cluster.waitUntilGone('new')
    expect(await left('new')).toEqual([])
  })
})

const CYCLE: readonly Item[] = [
  { name: 'a', dependsOn: ['b'] },
  { name: 'b', dependsOn: ['a'] },
]

describe.concurrent('a deletion that is stuck', () => {
  it('ends in DeleteFailed with the path, and continues without uninstalling by the annotation', async () => {
    const { cluster } = stage
    // Both items have run before an edit makes their dependencies a cycle.
    await run('stuck', [{ name: 'a' }, { name: 'b', dependsOn: ['a'] }])
    const { spec } = installation('stuck', CYCLE)
    const before = await cluster.patch('installations', 'stuck', { spec })
    await cluster.trigger('stuck')
    await cluster.waitUntilFinished('stuck', before.status?.jobIDFinished)
    await cluster.delete('installations', 'stuck')
    const failed = await cluster.waitUntil('installations', 'stuck', (it) => it?.status?.phase === 'DeleteFailed')
    expect(failed.status).toMatchObject({
      jobIDFinished: failed.status?.jobID,
      lastError: { reason: 'UndeletedSubobjects' },
    })
    expect((await cluster.get('executions', 'stuck'))?.status).toMatchObject({
      phase: 'DeleteFailed',
      lastError: { reason: 'CyclicDependencies', message: expect.stringContaining('a -> b -> a') as string },
    })

    await cluster.patch('installations', 'stuck', { metadata: { annotations: { [WITHOUT_UNINSTALL]: 'true' } } })
    await cluster.trigger('stuck')
    await cluster.waitUntilGone('stuck')
    expect(await left('stuck')).toEqual([])
  })
})

describe.concurrent('an item that was removed from the blueprint', () => {
  it('fails the job when it cannot be uninstalled; a new item of its name gets a new object', async () => {
    const { cluster } = stage
    const type = 'test/sticky'
    const deployer = Deployer.start(cluster, type, { uninstall: () => 'failed' })
    const first = await run('sticky', [{ name: 'item', type }, { name: 'keep' }])
    const old = (await cluster.items('sticky')).get('item')!
    await cluster.patch('installations', 'sticky', installation('sticky', [{ name: 'keep' }]))
    const failed = await cluster.waitUntilFinished('sticky', first.status?.jobID)
    expect(failed.status).toMatchObject({ phase: 'Failed' })
    expect((await cluster.get('executions', 'sticky'))?.status?.lastError).toMatchObject({
      reason: 'OrphanedDeployItems',
      message: 'Pawl could not uninstall the orphaned deploy items item',
    })

    deployer.uninstall = () => 'done'
    await cluster.patch('installations', 'sticky', installation('sticky', [{ name: 'item', type }, { name: 'keep' }]))
    const second = await cluster.waitUntilFinished('sticky', failed.status?.jobID)
    expect(second.status).toMatchObject({ phase: 'Succeeded' })
    expect((await cluster.items('sticky')).get('item')?.metadata.uid).not.toBe(old.metadata.uid)
    expect(await cluster.get('deployitems', old.metadata.name)).toBeUndefined()
    await deployer.stop()
  })
})

describe.concurrent('a finalizer that a user removed', () => {
  it('from an installation: its execution and items are uninstalled, nothing is left', async () => {
    const { cluster } = stage
    await run('forced-inst', CHAIN)
    await cluster.patch('installations', 'forced-inst', { metadata: { finalizers: null } })
    await cluster.delete('installations', 'forced-inst')
    await cluster.waitUntilGone('forced-inst')
    await cluster.waitUntilGone('forced-inst', 'executions', COLLECTED_MS)
    expect(await left('forced-inst')).toEqual([])
  }, 240_000)

  it('from an execution: its items are uninstalled, and the deletion of the installation ends', async () => {
    const { cluster, pawl } = stage
    const uninstalled: string[] = []
    const type = 'test/forced'
    const uninstall = (item: LsObject) => {
      uninstalled.push(item.metadata.labels?.['execution.landscaper.gardener.cloud/name'] ?? '')
      return 'done' as const
    }
    const deployer = Deployer.start(cluster, type, { uninstall })
    await run('forced-exec', [{ name: 'foreign', type }, { name: 'own' }])
    const items = await cluster.items('forced-exec')
    await cluster.patch('executions', 'forced-exec', { metadata: { finalizers: null } })
    await cluster.delete('executions', 'forced-exec')
    await cluster.waitUntilGone('forced-exec', 'executions')
    await cluster.waitUntilItems('forced-exec', ['foreign', 'own'], (item) => item === undefined, COLLECTED_MS)
    expect(uninstalled).toEqual(['foreign'])
    await cluster.delete('installations', 'forced-exec')
    await cluster.waitUntilGone('forced-exec')
    expect(await left('forced-exec')).toEqual([])
    for (const item of items.values()) await pawl.waitUntilSettled(item)
    await deployer.stop()
  })

  it('from both while a job runs: the items are deleted', async () => {
    const { cluster } = stage
    await cluster.create(installation('forced-both', [waitingItem('slow'), { name: 'quick' }]), 'installations')
    await cluster.waitUntilItems('forced-both', ['slow'], (item) => item?.status?.phase === 'Progressing')
    // Waits until the pass is over. A pass that finds the Installation without its Execution creates another Execution,
    // whose items run until they time out.
    await cluster.waitUntil('installations', 'forced-both', (root) => root?.status?.phase === 'Progressing')
    for (const plural of ['executions', 'installations']) {
      await cluster.patch(plural, 'forced-both', { metadata: { finalizers: null } })
      await cluster.delete(plural, 'forced-both')
    }
    await cluster.waitUntilItems('forced-both', ['slow', 'quick'], (item) => item === undefined, COLLECTED_MS)
    expect(await left('forced-both')).toEqual([])
  })
})

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
