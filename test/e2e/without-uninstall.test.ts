// Deletions with the annotation delete-without-uninstall: the deployed objects stay on the target, and no deployer gets a job.
// Source: spec/landscaper.md 2.4 "Deletion without uninstall", 2.8.

import { describe, expect, it } from 'vitest'
import { installation, type Item, type LsObject } from '../support/cluster/cluster.ts'
import { Deployer } from '../support/landscaper/deployer.ts'
import { useStage } from '../support/pawl/stage.ts'
import { deploying, sub, untilSub } from '../support/landscaper/sub-installations.ts'

const stage = useStage('without-uninstall')
const CACHE = 'landscaper.gardener.cloud/cache-helm-charts'
const annotations = { 'landscaper.gardener.cloud/delete-without-uninstall': 'true' }

/** Installs a foreign item below one of Pawl's own; `uninstalls` is what the foreign deployer was asked for. */
async function install(name: string, uninstall: 'done' | 'failed' | 'wait') {
  const { cluster } = stage
  const type = `example.org/${name}`
  const uninstalls: string[] = []
  const deployer = Deployer.start(cluster, type, {
    uninstall(item) {
      uninstalls.push(item.metadata.name)
      return uninstall
    },
  })
  const items: Item[] = [{ name: 'base' }, { name: 'top', type, dependsOn: ['base'] }]
  await cluster.create(installation(name, items), 'installations')
  const root = await cluster.waitUntilFinished(name)
  return { root, deployer, uninstalls }
}

/** Job IDs that items had after the given one, as the journal saw them. */
async function laterJobs(items: readonly LsObject[], jobID: string | undefined): Promise<readonly string[]> {
  const uids = items.map(({ metadata }) => metadata.uid ?? '')
  const events = stage.pawl.db.selectFrom('watch_event').select('projection').where('uid', 'in', uids)
  const ids = (await events.execute()).map(({ projection }) => (projection as Pick<LsObject, 'status'>).status?.jobID)
  return ids.filter((id) => id !== undefined && id !== jobID) as string[]
}

describe.concurrent('an installation that is deleted without uninstalling', () => {
  it('is deleted with its descendants, which inherit annotations, and no item gets a job', async () => {
    const { cluster, pawl } = stage
    const type = 'example.org/tree'
    const uninstalls: string[] = []
    const uninstall = (item: LsObject) => {
      uninstalls.push(item.metadata.name)
      return 'done' as const
    }
    const deployer = Deployer.start(cluster, type, { uninstall })
    const inner = sub('inner', { blueprint: deploying({ name: 'deep', type }) })
    const outer = sub('outer', { blueprint: { subinstallations: [inner], ...deploying({ name: 'mid' }) } })
    const written = installation('tree', [], { blueprint: { subinstallations: [outer] } })
    const own = { ...written.metadata.annotations, [CACHE]: 'true' }
    await cluster.create({ ...written, metadata: { ...written.metadata, annotations: own } }, 'installations')
    const root = await cluster.waitUntilFinished('tree')
    expect(root.status).toMatchObject({ phase: 'Succeeded' })
    const middle = await untilSub(cluster, 'tree', 'outer', () => true)
    const deepest = await untilSub(cluster, middle.metadata.name, 'inner', () => true)
    const execution = await cluster.get('executions', deepest.metadata.name)
    const items = [...(await cluster.items(deepest.metadata.name)).values()]
    const handed = [middle, deepest, execution, ...items].map((one) => one?.metadata.annotations?.[CACHE])
    expect(handed).toEqual(['true', 'true', 'true', 'true'])

    await cluster.patch('installations', 'tree', { metadata: { annotations } })
    await cluster.delete('installations', 'tree')
    await cluster.waitUntilGone('tree')
    await pawl.waitUntilSettled(root)
    await deployer.stop()
    expect(uninstalls).toEqual([])
    expect(await laterJobs(items, root.status?.jobID)).toEqual([])
    const left = [await cluster.get('installations', deepest.metadata.name), await cluster.items(deepest.metadata.name)]
    expect(left).toEqual([undefined, new Map()])
  })

  it('is deleted although its deletion already waits for a deployer', async () => {
    const { cluster } = stage
    const { deployer, uninstalls } = await install('during', 'wait')
    await cluster.delete('installations', 'during')
    await cluster.waitUntilItems('during', ['top'], (item) => item?.status?.phase === 'Deleting')
    await deployer.stop()
    await cluster.patch('installations', 'during', { metadata: { annotations } })
    await cluster.waitUntilGone('during')
    expect(uninstalls).not.toEqual([])
    expect((await cluster.items('during')).size).toBe(0)
  })
})

describe.concurrent('an orphan of an execution with delete-without-uninstall', () => {
  it('is released', async () => {
    const { cluster, pawl } = stage
    const { root, deployer, uninstalls } = await install('orphan', 'failed')
    // What comes with the watch of one kind may be seen before what came on another kind earlier.
    await pawl.waitUntilJournaled(await cluster.patch('executions', 'orphan', { metadata: { annotations } }))
    await cluster.patch('installations', 'orphan', installation('orphan', [{ name: 'base' }]))
    const next = await cluster.waitUntilFinished('orphan', root.status?.jobID)
    await deployer.stop()
    expect(next.status).toMatchObject({ phase: 'Succeeded' })
    expect(uninstalls).toEqual([])
    expect(await cluster.phases('orphan')).toEqual({ base: 'Succeeded' })
  })
})
