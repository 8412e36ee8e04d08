// Tests deletions: the reverse order, items that cannot be uninstalled, orphans, and objects whose finalizers a user
// removed.
// Source: seeds/landscaper-execution-controller.txt "Deleting an Execution", spec/landscaper.md 2.4, 2.8.

import { describe, expect, it } from 'vitest'
import { CHAIN, installation, type Item, type LsObject, waitingItem } from '../support/cluster/cluster.ts'
import { Deployer } from '../support/landscaper/deployer.ts'
import { useStage } from '../support/pawl/stage.ts'

const stage = useStage('deletion')
// Kubernetes' garbage collector deletes objects whose owner does not exist. It pauses while other tests create or
// delete CRDs.
const COLLECTED_MS = 120_000
const WITHOUT_UNINSTALL = 'landscaper.gardener.cloud/delete-without-uninstall'

async function run(name: string, items: readonly Item[]) {
  await stage.cluster.create(installation(name, items), 'installations')
  return await stage.cluster.waitUntilFinished(name)
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

  it('is deleted at once when its items were a cycle from the start', async () => {
    const { cluster } = stage
    const deployer = Deployer.start(cluster, 'test/cycle', {})
    const failed = await run('cycle', [
      ...CYCLE,
      { name: 'theirs', type: 'test/cycle' },
      { name: 'late', dependsOn: ['b'] },
    ])
    expect(failed.status).toMatchObject({ phase: 'Failed' })
    await cluster.delete('installations', 'cycle')
    await cluster.waitUntilGone('cycle')
    expect(await left('cycle')).toEqual([])
    await deployer.stop()
  })

  it('can be created again while its old objects are being deleted, and runs when these are gone', async () => {
    const { cluster } = stage
    const deployer = Deployer.start(cluster, 'test/again', { uninstall: () => 'wait' })
    await run('again', [{ name: 'only', type: 'test/again' }])
    const old = await cluster.get('executions', 'again')
    await cluster.delete('installations', 'again')
    await cluster.waitUntil('executions', 'again', (it) => it?.status?.phase === 'Deleting')
    // The name is free only after a user removes the finalizer, because the old objects still exist.
    await cluster.patch('installations', 'again', { metadata: { finalizers: null } })
    await cluster.waitUntilGone('again')
    await cluster.create(installation('again', [{ name: 'only' }]), 'installations')
    await cluster.waitUntil('installations', 'again', (it) => it?.status?.phase === 'Init')

    deployer.uninstall = () => 'done'
    const fresh = await cluster.waitUntilFinished('again')
    expect(fresh.status).toMatchObject({ phase: 'Succeeded' })
    expect((await cluster.get('executions', 'again'))?.metadata.uid).not.toBe(old?.metadata.uid)
    expect(await cluster.phases('again')).toEqual({ only: 'Succeeded' })
    await deployer.stop()
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

  it('is retried by the reconcile annotation after an item could not be uninstalled', async () => {
    const { cluster, pawl } = stage
    const deployer = Deployer.start(cluster, 'test/stubborn', { uninstall: () => 'failed' })
    await run('stubborn', [
      { name: 'foreign', type: 'test/stubborn' },
      { name: 'base' },
      { name: 'top', dependsOn: ['base'] },
    ])
    await cluster.delete('installations', 'stubborn')
    const failed = await cluster.waitUntil('installations', 'stubborn', (it) => it?.status?.phase === 'DeleteFailed')
    expect((await cluster.get('executions', 'stubborn'))?.status).toMatchObject({
      phase: 'DeleteFailed',
      lastError: { reason: 'DeployItemsNotDeleted', message: expect.stringContaining('foreign') as string },
    })
    await pawl.waitUntilSettled(failed)
    expect(await cluster.get('installations', 'stubborn')).toEqual(failed)

    deployer.uninstall = () => 'done'
    await cluster.trigger('stubborn')
    await cluster.waitUntilGone('stubborn')
    expect(await left('stubborn')).toEqual([])
    await deployer.stop()
  })
})

describe.concurrent('an item that was removed from the blueprint', () => {
  it('is uninstalled when the blueprint has no items left', async () => {
    const first = await run('emptied', CHAIN)
    await stage.cluster.patch('installations', 'emptied', installation('emptied', []))
    const second = await stage.cluster.waitUntilFinished('emptied', first.status?.jobID)
    expect(second.status).toMatchObject({ phase: 'Succeeded' })
    expect(await stage.cluster.items('emptied')).toEqual(new Map())
  })

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
      message: 'orphaned deploy items could not be uninstalled: item',
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
