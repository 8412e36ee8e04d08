import { describe, expect, it } from 'vitest'

import type { ClusterWorld } from '../../../support/foundationdb/cluster-world.ts'
import { runningCluster } from '../../../support/foundationdb/running-cluster.ts'
import { wishedMs } from '../../../../workflows/kit/index.ts'

const KEY = 'example.org/maintenance'
const DURATION = 3600

/** 10 Pods on 10 Nodes; the default limit is one tainted fault domain. */
async function clusterWithTaints(change: object = {}): Promise<ClusterWorld> {
  const world = await runningCluster()
  const taintReplacementOptions = [
    { key: 'example.org/exempt', durationInSeconds: -1 },
    { key: '*', durationInSeconds: DURATION },
  ]
  world.change({ automationOptions: { replacements: { enabled: true, taintReplacementOptions, ...change } } })
  await world.pass()
  world.takePasses()
  return world
}

async function passes(world: ClusterWorld, count: number): Promise<void> {
  for (let pass = 0; pass < count; pass++) await world.pass()
}

const conditionsOf = (world: ClusterWorld, id: string) =>
  world.groups
    .find(({ processGroupID }) => processGroupID === id)
    ?.processGroupConditions?.map(({ type, timestamp }) => [type, timestamp])
const marked = (world: ClusterWorld) => world.groups.filter(({ removalTimestamp }) => removalTimestamp !== undefined)
const spare = (world: ClusterWorld) => world.idsOf('storage').find((id) => !world.isCoordinator(id)) ?? ''

describe('F40 a taint of a Node', () => {
  it('is detected, and leads to one replacement after its duration and the replacement time', async () => {
    const world = await clusterWithTaints()
    const id = spare(world)
    const start = world.clock.seconds
    world.taintNodeOf(`db-${id}`, KEY)
    await passes(world, 2)
    expect(conditionsOf(world, id)).toEqual([['NodeTaintDetected', start]])
    world.advance(DURATION)
    const replacing = world.clock.seconds
    await passes(world, 2)
    expect(conditionsOf(world, id)).toEqual([
      ['NodeTaintDetected', start],
      ['NodeTaintReplacing', replacing],
    ])
    expect([marked(world), world.takeEffects()]).toEqual([[], []])
    world.advance(1800)
    await passes(world, 30)
    expect([world.idsOf('storage').includes(id), world.idsOf('storage').length]).toEqual([false, 4])
    expect(world.writes).toMatchObject({ 'create Pod': 1, 'remove Pod': 1, 'remove PersistentVolumeClaim': 1 })
    expect(world.takeEffects()).toEqual(['exclude no_wait storage', 'exclude storage', 'include storage'])
  })

  it.each<[string, string, object, number]>([
    ['has an exempt key', 'example.org/exempt', {}, 1],
    ['is in more than 10 % of the fault domains', KEY, {}, 2],
    ['is in more fault domains than the limit', KEY, { maxFaultDomainsWithTaintedProcessGroups: 1 }, 2],
  ])('leads to no replacement when it %s', async (_, key, change, count) => {
    const world = await clusterWithTaints(change)
    for (const id of world.idsOf('storage').slice(0, count)) world.taintNodeOf(`db-${id}`, key)
    for (let hours = 0; hours < 4; hours++) {
      await passes(world, 2)
      world.advance(3600)
    }
    expect([marked(world), world.takeEffects()]).toEqual([[], []])
  })

  it('leads to replacements up to the limit in percent', async () => {
    const world = await clusterWithTaints({ maxFaultDomainsWithTaintedProcessGroups: '20%' })
    for (const id of world.idsOf('storage').slice(0, 2)) world.taintNodeOf(`db-${id}`, KEY)
    for (let hours = 0; hours < 3; hours++) {
      await passes(world, 2)
      world.advance(3600)
    }
    expect(marked(world)).toHaveLength(1)
  })

  it('is looked for once a minute without writes, and forgotten when it is gone', async () => {
    const world = await clusterWithTaints()
    const { outcome, writes, status } = await world.pass()
    expect([wishedMs(outcome), writes, status]).toEqual([60_000, [], {}])
    const id = spare(world)
    world.taintNodeOf(`db-${id}`, KEY)
    await passes(world, 2)
    world.nodes = []
    await world.pass()
    expect([conditionsOf(world, id), world.generations]).toEqual([[], { reconciled: 2 }])
  })
})
