// Changes of a reconciled cluster. Source: spec/foundationdb.md 6.2, F3 to F19.

import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'

import { ClusterWorld, DOUBLE } from '../../../support/foundationdb/cluster-world.ts'
import type { ClusterSpec } from '../../../../workflows/foundationdb/cluster/kind.ts'

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['Date'] })
})

afterEach(() => {
  vi.useRealTimers()
})

/** A reconciled cluster without recorded effects. */
async function reconciled(spec: ClusterSpec = DOUBLE): Promise<ClusterWorld> {
  const world = new ClusterWorld(spec)
  await world.reconcile()
  world.forget()
  return world
}

function idsOf({ status }: ClusterWorld, processClass: string): readonly string[] {
  const groups = (status.processGroups ?? []).filter((group) => group.processClass === processClass)
  return groups.map(({ processGroupID }) => processGroupID)
}

function writesOf({ writes }: ClusterWorld, verb: string, kind: string): readonly string[] {
  return writes.filter((write) => write.startsWith(`${verb} ${kind} `))
}

function withStorage(storage: number): Partial<ClusterSpec> {
  return { databaseConfiguration: { ...DOUBLE.databaseConfiguration, storage } }
}

describe('a cluster that grows', () => {
  it('gets one process group, and neither a kill nor a configuration', async () => {
    const world = await reconciled()
    world.change(withStorage(5))
    await world.reconcile()
    expect(world.pods).toHaveLength(18)
    expect(writesOf(world, 'create', 'Pod')).toHaveLength(1)
    expect(writesOf(world, 'create', 'PersistentVolumeClaim')).toHaveLength(1)
    expect(world.database.effects).toEqual([])
    expect(world.status.generations).toEqual({ reconciled: 2 })
  })
})

describe('a cluster that shrinks', () => {
  it('excludes one process group, removes its objects and lifts the exclusion', async () => {
    const world = await reconciled({ ...DOUBLE, ...withStorage(5) })
    const before = idsOf(world, 'storage')
    world.change(withStorage(4))
    await world.reconcile()
    const [removed = ''] = before.filter((id) => !idsOf(world, 'storage').includes(id))
    expect(idsOf(world, 'storage')).toHaveLength(4)
    expect(world.database.effects.filter((effect) => !effect.startsWith('coordinators'))).toEqual([
      `exclude locality_instance_id:${removed}`,
      `include locality_instance_id:${removed}`,
    ])
    expect(writesOf(world, 'remove', 'Pod')).toEqual([`remove Pod sample-${removed}`])
    expect(writesOf(world, 'remove', 'PersistentVolumeClaim')).toEqual([
      `remove PersistentVolumeClaim sample-${removed}-data`,
    ])
    expect(world.status.generations).toEqual({ reconciled: 2 })
  })

  it('keeps the objects of a process group whose data has not moved away', async () => {
    const world = await reconciled({ ...DOUBLE, ...withStorage(5) })
    idsOf(world, 'storage').forEach((id) => world.database.holding.add(id))
    world.change(withStorage(4))
    for (let passes = 0; passes < 10; passes++) await world.pass()
    expect(writesOf(world, 'remove', 'Pod')).toEqual([])
    expect(world.database.effects.filter((effect) => effect.startsWith('include'))).toEqual([])
    world.database.holding.clear()
    await world.reconcile()
    expect(writesOf(world, 'remove', 'Pod')).toHaveLength(1)
  })

  it('removes a whole class with -1', async () => {
    const world = await reconciled()
    world.change({ processCounts: { ...DOUBLE.processCounts, stateless: -1 } })
    await world.reconcile()
    expect(idsOf(world, 'stateless')).toEqual([])
    expect(world.pods).toHaveLength(9)
  })

  it('is reconciled while an excluded Pod terminates, and lifts no exclusion', async () => {
    const world = await reconciled({ ...DOUBLE, ...withStorage(5) })
    world.change(withStorage(4))
    world.pods.forEach(({ metadata }) => world.stuck.add(metadata.name))
    for (let passes = 0; passes < 10; passes++) await world.pass()
    expect(world.status.generations).toEqual({ reconciled: 2, hasPendingRemoval: 2 })
    expect(world.database.effects.filter((effect) => effect.startsWith('include'))).toEqual([])
    world.stuck.clear()
    world.state = {
      ...world.state,
      pods: world.pods.filter(({ metadata }) => metadata.deletionTimestamp === undefined),
    }
    await world.reconcile()
    expect(world.status.generations).toEqual({ reconciled: 2 })
  })
})

describe('a Pod that a user deletes', () => {
  it('is created again with the same name', async () => {
    const world = await reconciled()
    const before = world.names('pods')
    world.state = { ...world.state, pods: world.pods.slice(1) }
    await world.reconcile()
    expect(world.names('pods')).toEqual(before)
    expect(writesOf(world, 'create', 'Pod')).toHaveLength(1)
    expect(writesOf(world, 'create', 'PersistentVolumeClaim')).toEqual([])
  })
})

describe('a process group in processGroupsToRemove', () => {
  it('is replaced: the new Pod exists before the exclusion', async () => {
    const world = await reconciled()
    const [first = ''] = idsOf(world, 'storage')
    world.change({ processGroupsToRemove: [first] })
    while (world.database.effects.every((effect) => !effect.startsWith('exclude'))) await world.pass()
    expect(writesOf(world, 'create', 'Pod')).toHaveLength(1)
    expect(writesOf(world, 'remove', 'Pod')).toEqual([])
    await world.reconcile()
    expect(idsOf(world, 'storage')).not.toContain(first)
    expect(idsOf(world, 'storage')).toHaveLength(4)
    expect(world.database.connectionString).toBe(world.status.connectionString)
  })

  it('is removed without an exclusion if the spec says so', async () => {
    const world = await reconciled()
    const [first = ''] = idsOf(world, 'stateless')
    world.change({ processGroupsToRemoveWithoutExclusion: [first] })
    await world.reconcile()
    expect(world.database.effects).toEqual([])
    expect(idsOf(world, 'stateless')).not.toContain(first)
    expect(world.pods).toHaveLength(17)
  })
})

describe('labels in the spec', () => {
  it('are added to Pods, claims and the ConfigMap, and stay when the spec loses them', async () => {
    const world = await reconciled()
    world.change({ labels: { resourceLabels: { team: 'a' } } })
    await world.reconcile()
    const labelled = () => world.pods.filter(({ metadata }) => metadata.labels?.['team'] === 'a')
    expect(labelled()).toHaveLength(17)
    expect(writesOf(world, 'remove', 'Pod')).toEqual([])
    world.change({ labels: {} })
    await world.reconcile()
    expect(labelled()).toHaveLength(17)
  })
})

describe('a changed custom parameter', () => {
  const KNOB: Partial<ClusterSpec> = {
    processes: { general: { customParameters: ['knob_disable_posix_kernel_aio=1'] } },
  }

  it('leads to one kill with all addresses, after all Pods have the configuration', async () => {
    const world = await reconciled()
    world.change(KNOB)
    await world.reconcile()
    expect(world.database.effects).toHaveLength(1)
    expect(world.database.effects[0]?.split(' ')).toHaveLength(18)
    expect(writesOf(world, 'remove', 'Pod')).toEqual([])
    expect(world.status.generations).toEqual({ reconciled: 2 })
  })

  it('waits until all processes have run for the minimum uptime', async () => {
    const world = await reconciled()
    world.database.uptimeSeconds = 10
    world.change(KNOB)
    for (let passes = 0; passes < 5; passes++) await world.pass()
    expect(world.database.effects).toEqual([])
    expect(world.status.generations).toMatchObject({ reconciled: 1, needsBounce: 2 })
    expect(world.events).toContain('NeedsBounce')
  })

  it('kills nothing with killProcesses: false', async () => {
    const world = await reconciled()
    world.change({ ...KNOB, automationOptions: { killProcesses: false } })
    for (let passes = 0; passes < 5; passes++) await world.pass()
    expect(world.database.effects).toEqual([])
    expect(world.status.generations).toMatchObject({ needsBounce: 2 })
  })

  it('updates the other Pods while one sidecar does not answer, and stops before the kill', async () => {
    const world = await reconciled()
    const [name = ''] = world.names('pods')
    world.unreachable.add(name)
    world.change(KNOB)
    for (let passes = 0; passes < 4; passes++) await world.pass()
    expect(writesOf(world, 'patch', 'Pod')).toHaveLength(16)
    expect(world.database.effects).toEqual([])
    const reconciledCondition = (world.status.conditions ?? []).find(({ type }) => type === 'Reconciled')
    expect(reconciledCondition).toMatchObject({ status: 'False', reason: 'UpdatePodConfig' })
    expect(world.events.filter((reason) => reason === 'ReconciliationTerminatedEarly')).toHaveLength(1)
  })
})

const ENVIRONMENT: Partial<ClusterSpec> = {
  processes: {
    general: { podTemplate: { spec: { containers: [{ name: 'foundationdb', env: [{ name: 'A', value: 'b' }] }] } } },
  },
}

describe('a changed environment', () => {
  it('recreates the Pods zone by zone with podUpdateStrategy Delete', async () => {
    const world = await reconciled({ ...DOUBLE, automationOptions: { podUpdateStrategy: 'Delete' } })
    const before = world.names('pods')
    world.change(ENVIRONMENT)
    await world.reconcile()
    expect(world.names('pods')).toEqual(before)
    expect(writesOf(world, 'remove', 'Pod')).toHaveLength(17)
    expect(world.events.filter((reason) => reason === 'UpdatingPods')).toHaveLength(17)
    // The new Pods of coordinators have other addresses.
    expect(world.database.effects.filter((effect) => !effect.startsWith('coordinators'))).toEqual([])
  })

  it('deletes no Pod with deletePods: false', async () => {
    const world = await reconciled({ ...DOUBLE, automationOptions: { podUpdateStrategy: 'Delete', deletePods: false } })
    world.change(ENVIRONMENT)
    for (let passes = 0; passes < 4; passes++) await world.pass()
    expect(writesOf(world, 'remove', 'Pod')).toEqual([])
    expect(world.status.generations).toMatchObject({ needsPodDeletion: 2 })
  })
})

describe('a change that process groups cannot follow in place', () => {
  const volume: Partial<ClusterSpec> = {
    processes: { general: { volumeClaimTemplate: { spec: { resources: { requests: { storage: '256G' } } } } } },
  }

  it('of the volume size replaces all stateful process groups', async () => {
    const world = await reconciled()
    const before = world.names('claims')
    world.change(volume)
    await world.reconcile()
    expect(world.names('claims')).toHaveLength(8)
    expect(world.names('claims').filter((name) => before.includes(name))).toEqual([])
  })

  it.each<[string, Partial<ClusterSpec>, number]>([
    ['the node selector', { processes: { general: { podTemplate: { spec: { nodeSelector: { disk: 'ssd' } } } } } }, 17],
    ['the number of storage processes in a Pod', { storageServersPerPod: 2 }, 4],
    ['the source of addresses', { routing: { publicIPSource: 'service' } }, 17],
  ])('of %s replaces process groups', async (_, change, count) => {
    const world = await reconciled({ ...DOUBLE, automationOptions: { podUpdateStrategy: 'Delete' } })
    const before = world.names('pods')
    world.change(change)
    await world.reconcile()
    expect(world.names('pods').filter((name) => !before.includes(name))).toHaveLength(count)
    expect(world.status.generations).toEqual({ reconciled: 2 })
  })

  it('of the prefix replaces all process groups', async () => {
    const world = await reconciled()
    world.change({ processGroupIDPrefix: 'dc1' })
    await world.reconcile()
    const groups = world.status.processGroups ?? []
    expect(groups).toHaveLength(17)
    expect(groups.every(({ processGroupID }) => processGroupID.startsWith('dc1-'))).toBe(true)
  })

  it('marks at most maxConcurrentReplacements process groups at a time', async () => {
    const world = await reconciled({ ...DOUBLE, automationOptions: { maxConcurrentReplacements: 2 } })
    world.change(volume)
    let most = 0
    for (let passes = 0; passes < 60; passes++) {
      const { ended } = await world.pass()
      const marked = (world.status.processGroups ?? []).filter(
        (group) => group.removalTimestamp !== undefined && group.exclusionTimestamp === undefined,
      )
      most = Math.max(most, marked.length)
      if (ended !== undefined) break
    }
    expect(most).toBe(2)
    expect(world.status.generations).toEqual({ reconciled: 2 })
  })
})

describe('the headless Service', () => {
  it('is created and removed with the spec', async () => {
    const world = await reconciled()
    world.change({ routing: { headlessService: true }, automationOptions: { podUpdateStrategy: 'Delete' } })
    await world.reconcile()
    expect(world.names('services')).toEqual(['sample'])
    world.change({ routing: { headlessService: false } })
    await world.reconcile()
    expect(world.names('services')).toEqual([])
  })
})

describe('a skipped cluster', () => {
  it('is left alone', async () => {
    const world = new ClusterWorld({ ...DOUBLE, skip: true })
    const { ended, status } = await world.pass()
    expect({ ended, status, writes: world.writes }).toEqual({ ended: 'Converged', status: {}, writes: [] })
  })
})
