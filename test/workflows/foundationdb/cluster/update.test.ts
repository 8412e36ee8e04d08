import { describe, expect, it } from 'vitest'

import { ClusterWorld } from '../../../support/foundationdb/cluster-world.ts'
import { fourNodes, runningCluster } from '../../../support/foundationdb/running-cluster.ts'
import { explainCluster } from '../../../../workflows/foundationdb/cluster/explain.ts'
import type { ClusterSpec } from '../../../../workflows/foundationdb/cluster/kind.ts'

const KNOB: Partial<ClusterSpec> = { processes: { general: { customParameters: ['knob_disable_posix_kernel_aio=1'] } } }
const environment = (value: string): Partial<ClusterSpec> => ({
  processes: {
    general: { podTemplate: { spec: { containers: [{ name: 'foundationdb', env: [{ name: 'X', value }] }] } } },
  },
})
const labels = (found: Readonly<Record<string, string>>): Partial<ClusterSpec> => ({
  processes: { general: { podTemplate: { metadata: { labels: found } } } },
})

async function passes(world: ClusterWorld, count: number): Promise<void> {
  for (let pass = 0; pass < count; pass++) await world.pass()
}

/** Names of Pods by the pass that removed them; passes without removals are left out. */
function removedByPass(world: ClusterWorld): readonly (readonly string[])[] {
  return world.courses
    .map(({ writes }) =>
      writes.flatMap(({ verb, object }) => (verb === 'remove' && object.kind === 'Pod' ? [object.metadata.name] : [])),
    )
    .filter((names) => names.length > 0)
}

describe('a Pod that a user deletes', () => {
  it('F7 is recreated with its name and its volume claim', async () => {
    const world = await runningCluster()
    const [name = ''] = world.podsOf('log')
    world.deletePod(name)
    world.advance(1)
    await world.pass()
    const summary = `UpdateStatus (again): the cluster still has: hasUnhealthyProcess; not healthy: log-`
    expect(world.condition?.status).toBe('False')
    expect(explainCluster(world.target)).toMatchObject({
      phase: 'Reconciling',
      summary: expect.stringContaining(summary) as string,
    })
    await world.settle()
    expect(explainCluster(world.target)).toEqual({ phase: 'Reconciled' })
    expect([world.condition?.status, world.generations.reconciled]).toEqual(['True', 1])
    expect(world.writes).toMatchObject({ 'create Pod': 1 })
    expect(world.writes['create PersistentVolumeClaim']).toBeUndefined()
    expect([world.podsOf('log').includes(name), world.takeEffects()]).toEqual([true, []])
  })
})

describe('a database with one coordinator', () => {
  it('replaces the Pod of the coordinator instead of recreating it with another address', async () => {
    const databaseConfiguration = { redundancy_mode: 'single', logs: 1 } as const
    const world = await runningCluster({ databaseConfiguration, processCounts: { storage: 2, log: 1, stateless: 1 } })
    const coordinator = world.idsOf('storage').find((id) => world.isCoordinator(id)) ?? ''
    const before = world.idsOf('storage')
    world.change(environment('changed'))
    await world.settle()
    expect(world.generations).toEqual({ reconciled: 2 })
    const kept = world.idsOf('storage').filter((id) => before.includes(id))
    expect(kept).toEqual(before.filter((id) => id !== coordinator))
    expect(world.takeEffects().filter((effect) => effect.startsWith('coordinators'))).toHaveLength(1)
  })
})

describe('a Pod that has ended', () => {
  it('is recreated with its volume claim after 30 s', async () => {
    const world = await runningCluster()
    const [name = ''] = world.podsOf('log')
    world.endPod(name)
    await world.pass()
    expect(world.writes).toEqual({})
    await world.settle()
    expect(world.writes).toMatchObject({ 'remove Pod': 1, 'create Pod': 1 })
    expect([world.podsOf('log').includes(name), world.takeEffects()]).toEqual([true, []])
  })
})

describe('a change that needs no restart', () => {
  it('F11 adds labels to Pods, and leaves a removed label in place', async () => {
    const world = await runningCluster()
    world.change(labels({ team: 'a' }))
    await world.settle()
    expect([world.writes, world.takeEffects()]).toEqual([{ 'patch Pod': 10 }, []])
    world.change(labels({ other: 'b' }))
    await world.settle()
    expect(
      world.pods.every((pod) => pod.metadata.labels?.['team'] === 'a' && pod.metadata.labels['other'] === 'b'),
    ).toBe(true)
  })

  it('F12 changes labels and data of the ConfigMap', async () => {
    const world = await runningCluster()
    world.change({ configMap: { metadata: { labels: { team: 'a' } }, data: { own: 'text' } } })
    await world.settle()
    expect([world.writes, world.takeEffects()]).toEqual([{ 'apply ConfigMap': 1 }, []])
    expect(world.configMap).toMatchObject({ metadata: { labels: { team: 'a' } }, data: { own: 'text' } })
  })
})

describe('a change of the command line', () => {
  it('F13 restarts all processes once, after all Pods have the configuration', async () => {
    const world = await runningCluster()
    world.change(KNOB)
    await world.settle()
    expect(world.takeEffects()).toEqual(['kill 10 addresses'])
    expect(Object.keys(world.writes).sort()).toEqual(['apply ConfigMap', 'patch Pod'])
    expect(
      world.database.processes.every(({ commandLine }) => commandLine.includes('--knob_disable_posix_kernel_aio=1')),
    ).toBe(true)
  })

  it('F14 reports once that a restart is needed while spec.automationOptions.killProcesses is false', async () => {
    const world = await runningCluster()
    world.change({ ...KNOB, automationOptions: { killProcesses: false } })
    await passes(world, 4)
    expect(world.generations).toMatchObject({ reconciled: 1, needsBounce: 2 })
    const events = world.courses.flatMap((course) => course.events.map(({ reason }) => reason))
    expect([events.filter((reason) => reason === 'NeedsBounce').length, world.takeEffects()]).toEqual([1, []])
    world.takePasses()
    await world.pass()
    expect(world.courses[0]).toMatchObject({ writes: [], events: [], status: {} })
  })

  it('F45 waits until the processes have run for the minimum uptime', async () => {
    const world = await runningCluster({ minimumUptimeSecondsForBounce: 100_000 })
    world.change(KNOB)
    await passes(world, 2)
    expect([world.generations.needsBounce, world.takeEffects()]).toEqual([2, []])
    expect(world.condition).toMatchObject({
      reason: 'BounceProcesses',
      message: 'processes need a restart, but not all have run for 100000 s',
    })
    world.advance(100_000)
    await world.settle()
    expect(world.takeEffects()).toEqual(['kill 10 addresses'])
  })

  it('F27 updates the other Pods while a sidecar does not answer, and continues when its process group is removed', async () => {
    const world = await runningCluster()
    const [name = ''] = world.podsOf('log')
    world.unreachable.add(name)
    world.change(KNOB)
    await passes(world, 5)
    expect([world.writes['patch Pod'], world.takeEffects()]).toEqual([9 + 9, []])
    expect(world.condition?.message).toBe(`Waiting for Pods to receive the ConfigMap: ${name}`)
    world.change({ processGroupsToRemove: [name.slice('db-'.length)] })
    await world.settle()
    expect(world.takeEffects()).toContain('kill 9 addresses')
  })
})

describe('a change of the Pod spec', () => {
  it('F15 recreates the Pods of one zone per pass, and the next ones only when their processes report again', async () => {
    const world = await runningCluster({ automationOptions: { podUpdateStrategy: 'Delete' } })
    world.change(environment('1'))
    await world.settle(200)
    const removed = removedByPass(world)
    expect(removed.map((names) => names.length)).toEqual(Array.from({ length: 10 }, () => 1))
    expect([world.writes['create Pod'], world.writes['create PersistentVolumeClaim']]).toEqual([10, undefined])
    const both = world.courses.filter(({ written }) =>
      ['create Pod', 'remove Pod'].every((verb) => written.some((text) => text.startsWith(verb))),
    )
    expect(both).toEqual([])
  })

  it('removes all Pods of a zone together', async () => {
    const world = await runningCluster({ automationOptions: { podUpdateStrategy: 'Delete' } }, fourNodes())
    const zones = new Map(
      world.groups.map(({ processGroupID, faultDomain }) => [`db-${processGroupID.replaceAll('_', '-')}`, faultDomain]),
    )
    world.change(environment('1'))
    await world.settle(200)
    const removed = removedByPass(world)
    expect(removed.map((names) => new Set(names.map((name) => zones.get(name))).size)).toEqual([1, 1, 1, 1])
  })

  it('replaces the processes of the transaction system by default, and recreates the storage Pods', async () => {
    const world = await runningCluster({ automationOptions: { removalMode: 'All' } })
    const before = world.idsOf('storage')
    world.change(environment('1'))
    await world.settle(200)
    expect(world.idsOf('storage')).toEqual(before)
    expect(world.writes).toMatchObject({
      'create Pod': 10,
      'remove Pod': 10,
      'create PersistentVolumeClaim': 2,
      'remove PersistentVolumeClaim': 2,
    })
    expect(world.takeEffects().filter((effect) => !effect.startsWith('coordinators'))).toEqual([
      ...['exclude no_wait stateless log cluster_controller', 'exclude stateless log cluster_controller'],
      'include stateless log cluster_controller',
    ])
  })

  it('deletes nothing while spec.automationOptions.deletePods is false', async () => {
    const world = await runningCluster({ automationOptions: { deletePods: false, podUpdateStrategy: 'Delete' } })
    world.change(environment('1'))
    await passes(world, 3)
    expect([world.writes, world.generations.needsPodDeletion]).toEqual([{}, 2])
    expect(world.events).toContain('NeedsPodsDeletion')
  })

  it.each([
    ['the replication of the data is not complete', { data: { teams: [{ minReplicasRemaining: 1 }] } }],
    ['the database is unavailable', { isAvailable: false }],
  ])('waits while %s', async (_, overrides) => {
    const world = await runningCluster({ automationOptions: { podUpdateStrategy: 'Delete' } })
    world.database.overrides = overrides as unknown as typeof world.database.overrides
    world.change(environment('1'))
    await passes(world, 3)
    expect(removedByPass(world)).toEqual([])
  })
})

describe('the headless Service', () => {
  it('F19 is created and removed with its field', async () => {
    const world = await runningCluster({ automationOptions: { podUpdateStrategy: 'Delete' } }, fourNodes())
    world.change({ services: { headless: true } })
    await world.settle(200)
    expect(world.services.map(({ metadata }) => metadata.name)).toEqual(['db'])
    world.change({ services: { headless: false } })
    await world.settle(200)
    expect(world.services).toEqual([])
  })

  it('is created for coordinators with DNS names, also if headlessService is false', async () => {
    const world = new ClusterWorld({ routing: { useDNSInClusterFile: true, headlessService: false } })
    await world.settle(200)
    expect(world.services.map(({ metadata }) => metadata.name)).toEqual(['db'])
    for (const { metadata, ...pod } of world.pods)
      expect(pod).toMatchObject({ spec: { hostname: metadata.name, subdomain: 'db' } })
    expect(world.target.status?.connectionString).toMatch(/@db-[a-z]+-\d+\.db\.default\.svc\.cluster\.local:4501/)
    expect(world.target.status?.hasIncorrectServiceConfig).toBe(false)
  })
})

describe('failures on purpose', () => {
  it.each<[string, Partial<ClusterSpec>, number]>([
    ['a crash loop', { buggify: { crashLoop: ['*'] } }, 10],
    ['no schedule', { buggify: { noSchedule: ['storage-1'] } }, 0],
  ])('%s: recreates the Pods at once, without checks', async (_, spec, count) => {
    const world = await runningCluster()
    world.change(spec)
    await world.pass()
    expect(world.writes['remove Pod'] ?? 0).toBe(count)
  })
})
