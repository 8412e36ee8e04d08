import { describe, expect, it } from 'vitest'

import type { ClusterWorld } from '../../../support/foundationdb/cluster-world.ts'
import { runningCluster } from '../../../support/foundationdb/running-cluster.ts'
import type { ClusterSpec } from '../../../../workflows/foundationdb/cluster/kind.ts'

const VOLUME: Partial<ClusterSpec> = {
  processes: { general: { volumeClaimTemplate: { spec: { resources: { requests: { storage: '32G' } } } } } },
}
const NODE_SELECTOR: Partial<ClusterSpec> = {
  processes: { general: { podTemplate: { spec: { nodeSelector: { disk: 'fast' } } } } },
}
const requests = (memory: string): Partial<ClusterSpec> => ({
  processes: {
    general: {
      podTemplate: { spec: { containers: [{ name: 'foundationdb', resources: { requests: { cpu: 1, memory } } }] } },
    },
  },
})
const STATEFUL = ['storage', 'log']
const ALL = ['storage', 'log', 'stateless', 'cluster_controller']

describe('a change that Pods cannot follow', () => {
  it.each<[string, Partial<ClusterSpec>, readonly string[]]>([
    ['F16 the size of volumes', VOLUME, STATEFUL],
    ['F17 the prefix of IDs', { processGroupIDPrefix: 'dc1' }, ALL],
    ['F18 the source of public addresses', { routing: { publicIPSource: 'service' } }, ALL],
    ['F18 the node selector', NODE_SELECTOR, ALL],
    ['larger resource requests', { ...requests('16Gi'), replaceInstancesWhenResourcesChange: true }, ALL],
    ['F18 the number of processes in a Pod', { storageServersPerPod: 2 }, ['storage']],
  ])('%s: replaces the process groups and keeps the fault tolerance', async (_, spec, classes) => {
    const world = await runningCluster({ automationOptions: { removalMode: 'All' } })
    const before = new Map(ALL.map((name) => [name, world.idsOf(name)]))
    world.change(spec)
    let least = Infinity
    for (let count = 0; count < 150 && world.generations.reconciled !== 2; count++) {
      await world.pass()
      least = Math.min(least, new Set(world.database.processes.map(({ processGroup }) => processGroup)).size)
    }
    await world.settle()
    expect(least).toBeGreaterThanOrEqual(10)
    for (const name of ALL) {
      const shared = world.idsOf(name).filter((id) => before.get(name)?.includes(id))
      expect([name, shared.length]).toEqual([name, classes.includes(name) ? 0 : before.get(name)?.length])
      expect(world.idsOf(name)).toHaveLength(before.get(name)?.length ?? 0)
    }
    expect([world.pods.length, world.claims.length]).toEqual([10, 6])
  })

  it.each([
    ['smaller requests', requests('4Gi'), true],
    ['larger requests without replaceInstancesWhenResourcesChange', requests('16Gi'), false],
  ])('%s: recreates the storage Pods', async (_, spec, replaceInstancesWhenResourcesChange) => {
    const world = await runningCluster({ automationOptions: { removalMode: 'All' } })
    const before = world.idsOf('storage')
    world.change({ ...spec, replaceInstancesWhenResourcesChange })
    await world.settle(200)
    expect([world.idsOf('storage'), world.writes['create Pod']]).toEqual([before, 10])
  })

  it('F18 gives each Pod the address of its Service', async () => {
    const world = await runningCluster({ routing: { publicIPSource: 'service' } })
    const addresses = world.services.map((service) => (service['spec'] as { clusterIP: string }).clusterIP)
    expect(world.services).toHaveLength(10)
    expect(world.database.processes.map(({ host }) => host).sort()).toEqual(addresses.sort())
  })

  it.each([1, 2])('F21 replaces at most %i process groups at a time', async (most) => {
    const world = await runningCluster()
    world.change({ ...VOLUME, automationOptions: { maxConcurrentReplacements: most, removalMode: 'All' } })
    const ongoing: number[] = []
    for (let count = 0; count < 400 && world.generations.reconciled !== 2; count++) {
      await world.pass()
      const marked = world.groups.filter(
        ({ removalTimestamp, exclusionTimestamp }) =>
          removalTimestamp !== undefined && exclusionTimestamp === undefined,
      )
      ongoing.push(marked.length)
    }
    expect([world.generations.reconciled, Math.max(...ongoing)]).toEqual([2, most])
  })
})

const REPLACEMENTS = { automationOptions: { replacements: { enabled: true } } }

/** Stops the processes of some process groups of class log for some time. @returns the IDs. */
async function stopLogs(world: ClusterWorld, number: number, seconds: number): Promise<readonly string[]> {
  const ids = world.idsOf('log').slice(0, number)
  for (const id of ids) world.stopped.add(id)
  for (let count = 0; count < 5; count++) await world.pass()
  world.advance(seconds)
  for (let count = 0; count < 4; count++) await world.pass()
  return ids
}

const markedIn = (world: ClusterWorld) =>
  world.groups.flatMap(({ processGroupID, removalTimestamp }) =>
    removalTimestamp === undefined ? [] : [processGroupID],
  )

describe('a failed process group', () => {
  it.each<[string, Partial<ClusterSpec>, number, number]>([
    ['stays before its detection time', REPLACEMENTS, 6000, 0],
    ['is replaced after its detection time', REPLACEMENTS, 7300, 1],
    ['stays without automatic replacements', {}, 100_000, 0],
    ['F23 stays while no process should run', { ...REPLACEMENTS, buggify: { emptyMonitorConf: true } }, 100_000, 0],
    [
      'F23 stays while all containers crash on purpose',
      { ...REPLACEMENTS, buggify: { crashLoopContainers: [{ containerName: 'foundationdb', targets: ['*'] }] } },
      100_000,
      0,
    ],
  ])('%s', async (_, spec, seconds, count) => {
    const world = await runningCluster()
    world.change(spec)
    await stopLogs(world, 1, seconds)
    expect(markedIn(world)).toHaveLength(count)
  })

  it.each<[string, boolean, boolean, number]>([
    ['one at a time', false, false, 1],
    ['one fault domain at a time', true, false, 1],
    ['all of one fault domain', true, true, 2],
  ])('F22 two failures: %s', async (_, faultDomainBasedReplacements, isOneDomain, count) => {
    const nodeOf = (pod: string, count: number) => (isOneDomain && pod.startsWith('db-log') ? 'node' : `node-${count}`)
    const world = await runningCluster({}, nodeOf)
    world.change({ automationOptions: { replacements: { enabled: true, faultDomainBasedReplacements } } })
    await stopLogs(world, 2, 7300)
    expect(markedIn(world)).toHaveLength(count)
  })

  it('ends with as many process groups as before', async () => {
    const world = await runningCluster()
    world.change(REPLACEMENTS)
    const [id = ''] = await stopLogs(world, 1, 7300)
    await world.settle()
    expect([world.idsOf('log').includes(id), world.idsOf('log').length]).toEqual([false, 2])
  })
})
