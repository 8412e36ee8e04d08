// Failures of processes, Pods and the database, upgrades and the lock. Source: spec/foundationdb.md 6.3 to 6.5.

import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'

import { takeLock } from '../../../../activities/foundationdb/database/lock.ts'
import { ClusterWorld, DOUBLE } from '../../../support/foundationdb/cluster-world.ts'
import type { ClusterSpec } from '../../../../workflows/foundationdb/cluster/kind.ts'

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['Date'] })
})

afterEach(() => {
  vi.useRealTimers()
})

const BOTH_VERSIONS = { '7.1.67': 'fdb00b071010000', '7.3.63': 'fdb00b073000000' }

async function reconciled(spec: ClusterSpec = DOUBLE, versions = BOTH_VERSIONS): Promise<ClusterWorld> {
  const world = new ClusterWorld(spec, versions)
  await world.reconcile()
  world.forget()
  return world
}

function idsOf({ status }: ClusterWorld, processClass: string): readonly string[] {
  const groups = (status.processGroups ?? []).filter((group) => group.processClass === processClass)
  return groups.map(({ processGroupID }) => processGroupID)
}

async function passes(world: ClusterWorld, count: number): Promise<void> {
  for (let pass = 0; pass < count; pass++) await world.pass()
}

function blockedStep({ status }: ClusterWorld) {
  return (status.conditions ?? []).find(({ type }) => type === 'Reconciled')?.reason
}

describe('a process that does not report', () => {
  const replacing: ClusterSpec = { ...DOUBLE, automationOptions: { replacements: { enabled: true } } }

  it('is not replaced before 7200 s; then one at a time', async () => {
    const world = await reconciled(replacing)
    const [first = '', second = ''] = idsOf(world, 'storage')
    ;[first, second].forEach((id) => world.database.missing.add(id))
    await world.pass()
    world.seconds += 7000
    await world.pass()
    const marked = () =>
      (world.status.processGroups ?? []).filter(({ removalTimestamp }) => removalTimestamp !== undefined)
    expect(marked()).toEqual([])
    world.seconds += 300
    await world.pass()
    expect(marked()).toHaveLength(1)
  })

  it('is not replaced without automatic replacements', async () => {
    const world = await reconciled()
    const [first = ''] = idsOf(world, 'stateless')
    world.database.missing.add(first)
    await world.pass()
    world.seconds += 10_000
    await passes(world, 2)
    expect(world.status.generations).toMatchObject({ reconciled: 1, hasUnhealthyProcess: 1 })
    expect(world.database.effects).toEqual([])
  })

  it('blocks the exclusion of others', async () => {
    const world = await reconciled()
    const [first = '', second = ''] = idsOf(world, 'log')
    world.database.missing.add(first)
    world.change({ processGroupsToRemove: [second] })
    await passes(world, 5)
    expect(world.database.effects).toEqual([])
    expect(blockedStep(world)).toBe('ExcludeInstances')
  })
})

describe('a cluster whose database is unavailable', () => {
  it('still creates Pods, and changes nothing in the database', async () => {
    const world = await reconciled()
    world.database.isAvailable = false
    world.change({ databaseConfiguration: { ...DOUBLE.databaseConfiguration, storage: 5, logs: 4 } })
    await passes(world, 4)
    expect(world.pods).toHaveLength(19)
    expect(world.database.effects).toEqual([])
    expect(world.status).toMatchObject({ configured: true, health: { available: false } })
    world.database.isAvailable = true
    await world.reconcile()
    expect(world.database.effects).toHaveLength(1)
  })

  it('reports that its database cannot be read', async () => {
    const world = await reconciled()
    world.database.isReadable = false
    await world.pass()
    expect(world.status).toMatchObject({ health: { available: false }, generations: { missingDatabaseStatus: 1 } })
  })
})

describe('unhealthy data distribution', () => {
  it('defers a change of the configuration, and lets the pass continue', async () => {
    const world = await reconciled()
    world.database.isDataHealthy = false
    world.change({
      databaseConfiguration: { ...DOUBLE.databaseConfiguration, logs: 4 },
      labels: { resourceLabels: { a: 'b' } },
    })
    await passes(world, 4)
    expect(world.database.effects).toEqual([])
    expect(world.status.generations).toMatchObject({ needsConfigurationChange: 2 })
    expect(world.pods.every(({ metadata }) => metadata.labels?.['a'] === 'b')).toBe(true)
  })
})

describe('a lost coordinator', () => {
  it('is replaced, and all Pods get the new connection string', async () => {
    const world = await reconciled()
    const address = world.database.status().coordinators[0]?.address
    const [lost] = world.database.processes().filter((process) => process.address === address)
    world.database.missing.add(lost?.locality['instance_id'] ?? '')
    await passes(world, 6)
    expect(world.database.effects).toHaveLength(1)
    expect(world.database.effects[0]).not.toContain(address)
    expect(world.status.connectionString).toBe(world.database.connectionString)
    expect(world.state.configMap?.data?.['cluster-file']).toBe(world.database.connectionString)
  })
})

describe('an upgrade to another protocol', () => {
  const UPGRADE = { version: '7.3.63' }

  it('updates sidecars, restarts all processes once, then recreates the Pods', async () => {
    const world = await reconciled({ ...DOUBLE, automationOptions: { podUpdateStrategy: 'Delete' } })
    world.change(UPGRADE)
    await world.reconcile()
    const kills = world.database.effects.filter((effect) => effect.startsWith('kill'))
    expect(kills[0]?.split(' ')).toHaveLength(18)
    expect(world.status.runningVersion).toBe('7.3.63')
    const images = world.pods.map(({ spec }) => spec.containers.map(({ image }) => image).join(' '))
    expect(new Set(images).size).toBe(1)
    expect(images[0]).not.toContain('7.1.67')
    expect(world.status.generations).toEqual({ reconciled: 2 })
  })

  it('waits for clients that do not support it', async () => {
    const world = await reconciled()
    world.database.clients.push({
      clientVersion: '7.1.67',
      protocolVersion: 'fdb00b071010000',
      address: '192.0.2.1:5000',
    })
    world.change(UPGRADE)
    await passes(world, 3)
    expect(world.events).toContain('UnsupportedClient')
    expect(blockedStep(world)).toBe('CheckClientCompatibility')
    expect({
      writes: world.writes.filter((write) => !write.includes('ConfigMap')),
      effects: world.database.effects,
    }).toEqual({
      writes: [],
      effects: [],
    })
  })

  it('is refused as a downgrade', async () => {
    const world = await reconciled({ ...DOUBLE, version: '7.3.63' })
    world.change({ version: '7.1.67' })
    await passes(world, 3)
    expect(blockedStep(world)).toBe('CheckClientCompatibility')
    expect(world.database.effects).toEqual([])
  })
})

describe('a cluster with a lock', () => {
  const locked: ClusterSpec = { ...DOUBLE, processGroupIDPrefix: 'dc1', lockOptions: { disableLocks: false } }
  const KNOB: Partial<ClusterSpec> = { processes: { general: { customParameters: ['knob_a=1'] } } }

  it('waits with its kill while another controller has the lock', async () => {
    const world = await reconciled(locked)
    const database = world.database.provider().open({ connectionString: '', version: '' }, new AbortController().signal)
    const lock = { lockID: 'dc2', keyPrefix: '\xff\x02/org.foundationdb.kubernetes-operator', durationSeconds: 600 }
    await takeLock(database, lock, Math.floor(Date.now() / 1000) + 20)
    world.change(KNOB)
    await passes(world, 4)
    expect(world.database.effects).toEqual([])
    expect(blockedStep(world)).toBe('BounceProcesses')
    world.seconds += 700
    await world.reconcile()
    expect(world.database.effects).toHaveLength(1)
  })

  it('releases the lock when it is reconciled', async () => {
    const world = await reconciled(locked)
    world.change(KNOB)
    await world.reconcile()
    expect([...world.database.keys.keys()]).toEqual([])
  })

  it('writes the deny list of its spec, and leaves other entries alone', async () => {
    const world = await reconciled(locked)
    const prefix = '\xff\x02/org.foundationdb.kubernetes-operator/denyList/'
    world.database.keys.set(`${prefix}dc9`, Buffer.from('dc9'))
    world.change({ lockOptions: { disableLocks: false, denyList: [{ id: 'dc2' }] } })
    await world.reconcile()
    expect([...world.database.keys.keys()]).toEqual([`${prefix}dc9`, `${prefix}dc2`])
    expect(world.status.locks).toEqual({ lockDenyList: ['dc2', 'dc9'] })
    world.change({ lockOptions: { disableLocks: false } })
    await world.reconcile()
    expect([...world.database.keys.keys()]).toEqual([`${prefix}dc9`, `${prefix}dc2`])
  })
})

describe('a Pod that cannot be scheduled', () => {
  it('delays the first coordinators only until enough others run', async () => {
    const world = new ClusterWorld()
    await world.pass()
    world.names('pods').forEach((name) => world.pending.add(name))
    world.state = { ...world.state, pods: world.pods.map((pod) => ({ ...pod, status: {} })) }
    await passes(world, 2)
    expect(world.status.connectionString).toBeUndefined()
    expect(blockedStep(world)).toBe('GenerateInitialClusterFile')
    world.pending.clear()
    await world.reconcile()
    expect(world.database.effects).toHaveLength(1)
  })
})
