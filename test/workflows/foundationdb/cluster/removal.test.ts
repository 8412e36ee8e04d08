import { describe, expect, it } from 'vitest'

import type { ClusterWorld } from '../../../support/foundationdb/cluster-world.ts'
import { COUNTS, runningCluster } from '../../../support/foundationdb/running-cluster.ts'
import type { DatabaseStatus } from '../../../../activities/foundationdb/database/status.ts'
import type { ClusterSpec } from '../../../../workflows/foundationdb/cluster/kind.ts'

interface Scenario {
  readonly change: (world: ClusterWorld) => Partial<ClusterSpec>
  readonly effects: readonly string[]
  readonly pods: number
  readonly writes: Readonly<Record<string, number>>
}

/** The storage process group without a coordinator. */
const spareStorage = (world: ClusterWorld) => world.idsOf('storage').filter((id) => !world.isCoordinator(id))
const coordinator = (world: ClusterWorld) =>
  world
    .idsOf('storage')
    .filter((id) => world.isCoordinator(id))
    .slice(0, 1)
const dataWith = (replicas: number) => ({
  name: 'healing',
  isHealthy: true,
  minReplicasRemaining: replicas,
  highestPriority: 0,
  teams: [{ isPrimary: true, name: 'healing', isHealthy: true, minReplicasRemaining: replicas }],
})
const REMOVAL = ['exclude no_wait storage', 'exclude storage', 'include storage']

const SCENARIOS: Readonly<Record<string, Scenario>> = {
  'F3 one storage process more': {
    change: () => ({ databaseConfiguration: { storage: 5 } }),
    effects: [],
    pods: 11,
    writes: { 'create Pod': 1, 'create PersistentVolumeClaim': 1 },
  },
  'F4 one storage process less': {
    change: () => ({ databaseConfiguration: { storage: 3 } }),
    effects: REMOVAL,
    pods: 9,
    writes: { 'remove Pod': 1, 'remove PersistentVolumeClaim': 1 },
  },
  'F5 fewer processes of two classes': {
    change: () => ({ databaseConfiguration: { storage: 3 }, processCounts: { ...COUNTS, stateless: 2 } }),
    effects: ['exclude no_wait storage stateless', 'exclude storage stateless', 'include storage stateless'],
    pods: 8,
    writes: { 'remove Pod': 2, 'remove PersistentVolumeClaim': 1 },
  },
  'F6 no process of class stateless': {
    change: () => ({
      processCounts: { ...COUNTS, stateless: -1 },
      automationOptions: { removalMode: 'All' },
    }),
    effects: ['exclude no_wait stateless', 'exclude stateless', 'include stateless'],
    pods: 7,
    writes: { 'remove Pod': 3, 'apply ConfigMap': 1 },
  },
  'F8 replacement of a process group': {
    change: (world) => ({ processGroupsToRemove: spareStorage(world) }),
    effects: REMOVAL,
    pods: 10,
    writes: { 'create Pod': 1, 'create PersistentVolumeClaim': 1, 'remove Pod': 1, 'remove PersistentVolumeClaim': 1 },
  },
  'F9 replacement without exclusion': {
    change: (world) => ({ processGroupsToRemoveWithoutExclusion: spareStorage(world) }),
    effects: [],
    pods: 10,
    writes: { 'create Pod': 1, 'remove Pod': 1, 'remove PersistentVolumeClaim': 1 },
  },
  'F33 replacement of a coordinator': {
    change: (world) => ({ processGroupsToRemove: coordinator(world) }),
    effects: ['exclude no_wait storage', 'coordinators 3 addresses', 'exclude storage', 'include storage'],
    pods: 10,
    writes: { 'create Pod': 1, 'remove Pod': 1, 'apply ConfigMap': 1 },
  },
}

describe('a change of the process groups', () => {
  it.each(Object.entries(SCENARIOS))('%s', async (_, { change, effects, pods, writes }) => {
    const world = await runningCluster()
    world.change(change(world))
    await world.settle()
    expect(world.takeEffects()).toEqual(effects)
    expect([world.pods.length, world.claims.length]).toEqual([
      pods,
      world.podsOf('storage').length + world.podsOf('log').length,
    ])
    expect(world.writes).toMatchObject(writes)
    expect(world.groups).toHaveLength(pods)
    const again = await world.pass()
    expect([again.writes, again.status, again.events, world.takeEffects()]).toEqual([[], {}, [], []])
  })

  it('creates new Pods before it excludes the replaced ones, and deletes nothing before the exclusion', async () => {
    const world = await runningCluster()
    world.change({ processGroupsToRemove: spareStorage(world) })
    await world.settle()
    const order = world.courses.flatMap(({ writes, events }) => [
      ...events.filter(({ reason }) => reason === 'ExcludingProcesses').map(() => 'exclude'),
      ...writes.filter(({ verb, object }) => verb !== 'patch' && object.kind === 'Pod').map(({ verb }) => verb),
    ])
    expect(order).toEqual(['create', 'exclude', 'remove'])
  })

  it('removes one zone at a time, and waits between zones', async () => {
    const world = await runningCluster()
    world.change({ processCounts: { ...COUNTS, stateless: -1 } })
    const times: number[] = []
    while (world.podsOf('stateless').length > 0) {
      const { seconds } = world.clock
      const { writes } = await world.pass()
      if (writes.some(({ verb }) => verb === 'remove')) times.push(seconds)
    }
    const waits = times.slice(1).map((seconds, at) => seconds - (times[at] ?? 0))
    expect([times.length, waits.every((seconds) => seconds >= 60)]).toEqual([3, true])
  })

  it('keeps the Pod until the data has moved away', async () => {
    const world = await runningCluster()
    const [id = ''] = spareStorage(world)
    world.database.moving.add(id)
    world.change({ processGroupsToRemove: [id] })
    for (let count = 0; count < 10; count++) await world.pass()
    expect([world.generations, world.writes['remove Pod']]).toEqual([{ reconciled: 1, needsShrink: 2 }, undefined])
    expect(world.condition?.message).toBe(
      `Waiting for the removal of process groups: ${id} (its exclusion is not complete)`,
    )
    world.database.moving.delete(id)
    await world.settle()
    expect(world.writes['remove Pod']).toBe(1)
  })

  it('F32 excludes nothing while a process that stays is missing', async () => {
    const world = await runningCluster()
    const [[first = ''], [last = '']] = [coordinator(world), spareStorage(world)]
    world.stopped.add(first)
    world.advance(1)
    world.change({ processGroupsToRemove: [last] })
    for (let count = 0; count < 10; count++) await world.pass()
    expect(world.takeEffects().filter((effect) => effect.startsWith('exclude'))).toEqual([])
    // Marking the missing process group unblocks the removal.
    world.change({ processGroupsToRemove: [first, last] })
    await world.settle()
    expect(world.idsOf('storage')).toHaveLength(4)
  })
})

describe('a removal that is not safe', () => {
  it.each<[string, Partial<DatabaseStatus>]>([
    ['F35 storage', { data: dataWith(1) }],
    [
      'F35 logs',
      {
        logs: [
          {
            isCurrent: true,
            main: { faultTolerance: 0, replicationFactor: 2 },
            remote: undefined,
            satellite: undefined,
          },
        ],
      },
    ],
  ])('%s: waits while the fault tolerance is too low', async (_, overrides) => {
    const world = await runningCluster()
    world.change({ processGroupsToRemove: spareStorage(world) })
    world.database.overrides = overrides
    for (let count = 0; count < 6; count++) await world.pass()
    expect(world.writes['remove Pod']).toBeUndefined()
    expect(world.condition?.message).toMatch(/^Waiting for the removal of process groups: \S+, because /)
    world.database.overrides = {}
    await world.settle()
    expect(world.writes['remove Pod']).toBe(1)
  })

  it('F35 calls no command and removes no Pod while the database is unavailable', async () => {
    const world = await runningCluster()
    world.database.isDown = true
    world.change({ processGroupsToRemove: spareStorage(world) })
    for (let count = 0; count < 6; count++) await world.pass()
    expect([world.writes['remove Pod'], world.takeEffects()]).toEqual([undefined, []])
  })

  it('F33 keeps a coordinator also without exclusion and while the database is unavailable', async () => {
    const world = await runningCluster()
    world.database.isDown = true
    world.change({ processGroupsToRemoveWithoutExclusion: [...coordinator(world), ...spareStorage(world)] })
    for (let count = 0; count < 6; count++) await world.pass()
    expect(world.writes['remove Pod']).toBe(1)
    expect(world.groups.some(({ processGroupID }) => world.isCoordinator(processGroupID))).toBe(true)
  })

  it('F10 replaces a process group without an address where exclusions need one', async () => {
    const world = await runningCluster({ version: '7.1.20' })
    const [id = ''] = spareStorage(world)
    world.forgetAddresses(id)
    world.change({ processGroupsToRemove: [id] })
    await world.settle()
    expect([world.idsOf('storage').includes(id), world.takeEffects()]).toEqual([false, []])
  })
})

describe('an object whose deletion does not end', () => {
  it.each([
    ['F24', 'Pod', '', 6],
    ['F25', 'PersistentVolumeClaim', '-data', 5],
    ['F26', 'Service', '', 5],
  ])('%s %s: counts as reconciled, stays excluded, and does not block other changes', async (_, kind, suffix, pods) => {
    const world = await runningCluster({ routing: { publicIPSource: 'service' } })
    const [id = ''] = spareStorage(world)
    world.held.add(`${kind} db-${id}${suffix}`)
    world.change({ processGroupsToRemove: [id] })
    for (let count = 0; count < 20; count++) await world.pass()
    expect(world.generations).toEqual({ reconciled: 2, hasPendingRemoval: 2 })
    expect(world.condition?.message).toContain(`${id} (${kind} db-${id}${suffix} is terminating)`)
    expect(world.writes[`remove ${kind}`]).toBe(1)
    expect(world.takeEffects()).toEqual(['exclude no_wait storage', 'exclude storage'])
    world.change({ databaseConfiguration: { storage: 5 } })
    for (let count = 0; count < 8; count++) await world.pass()
    expect([world.generations.reconciled, world.podsOf('storage').length]).toEqual([3, pods])
  })

  it('F34 keeps objects that a user isolates, and removes them when the annotation is gone', async () => {
    const world = await runningCluster()
    const [id = ''] = spareStorage(world)
    world.annotatePod(`db-${id}`, { 'foundationdb.org/isolate-process-group': 'true' })
    world.change({ processGroupsToRemove: [id] })
    for (let count = 0; count < 10; count++) await world.pass()
    const removals = () => Object.entries(world.writes).filter(([write]) => write.startsWith('remove'))
    expect([removals(), world.takeEffects(), world.generations.needsShrink]).toEqual([[], REMOVAL.slice(0, 2), 2])
    world.annotatePod(`db-${id}`, { 'foundationdb.org/isolate-process-group': 'false' })
    await world.settle()
    expect(removals()).toEqual([
      ['remove Pod', 1],
      ['remove PersistentVolumeClaim', 1],
    ])
    expect(world.takeEffects()).toEqual(REMOVAL.slice(2))
  })
})
