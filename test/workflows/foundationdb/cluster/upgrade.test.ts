import { describe, expect, it } from 'vitest'

import { ClusterWorld } from '../../../support/foundationdb/cluster-world.ts'
import { COUNTS, fourNodes, runningCluster } from '../../../support/foundationdb/running-cluster.ts'

const NEXT = '7.3.43'
const OLD_CLIENT = {
  clientVersion: '7.1.67',
  protocolVersion: 'protocol of 7.1',
  clients: [{ address: '10.9.9.9:5000', logGroup: 'shop' }],
}

async function passes(world: ClusterWorld, count: number): Promise<void> {
  for (let pass = 0; pass < count; pass++) await world.pass()
}

const versionsOf = (world: ClusterWorld) => [...new Set(world.database.processes.map(({ version }) => version))]
const imagesOf = (world: ClusterWorld) => [
  ...new Set(
    world.pods.flatMap((pod) =>
      (pod['spec'] as { readonly containers: readonly { readonly image: string }[] }).containers.map(
        ({ image }) => image,
      ),
    ),
  ),
]

describe('an upgrade to another protocol', () => {
  it('F42 restarts all processes at once when all Pods have the new binary, and then recreates the Pods', async () => {
    const world = await runningCluster({ automationOptions: { podUpdateStrategy: 'Delete' } }, fourNodes())
    const [slow = ''] = world.podsOf('storage')
    world.unreachable.add(slow)
    world.change({ version: NEXT })
    await passes(world, 5)
    expect([world.writes, world.takeEffects(), versionsOf(world)]).toEqual([{ 'patch Pod': 10 }, [], ['7.1.67']])
    world.unreachable.clear()
    await passes(world, 2)
    expect([world.takeEffects(), versionsOf(world)]).toEqual([['kill twice 10 addresses'], [NEXT]])
    await world.settle(200)
    expect([world.target.status?.runningVersion, imagesOf(world)]).toEqual([
      NEXT,
      [`foundationdb/foundationdb:${NEXT}`, `foundationdb/foundationdb-kubernetes-sidecar:${NEXT}-1`],
    ])
    expect(world.takeEffects().filter((effect) => effect.startsWith('kill'))).toEqual([])
    const again = await world.pass()
    expect([again.writes, again.status]).toEqual([[], {}])
  })

  it('F49 recreates the Pod of a process that still runs the old version', async () => {
    const world = await runningCluster({ automationOptions: { podUpdateStrategy: 'Delete' } }, fourNodes())
    const [id = ''] = world.idsOf('stateless')
    const [address = ''] = world.database.processes.find(({ processGroup }) => processGroup === id)?.addresses ?? []
    world.change({ version: NEXT })
    world.database.onEffect = (effect) => {
      if (effect.startsWith('kill')) world.stopped.add(id)
    }
    await passes(world, 3)
    expect([world.takeEffects(), world.writes['remove Pod']]).toEqual([['kill twice 10 addresses'], undefined])
    expect(world.condition).toMatchObject({ reason: 'BounceProcesses' })
    world.database.overrides = { incompatibleConnections: [address] }
    await passes(world, 2)
    const removed = world.courses.flatMap(({ writes }) => writes.filter(({ verb }) => verb === 'remove'))
    expect(removed.map(({ object }) => object.metadata.name)).toEqual([`db-${id}`])
    world.database.overrides = {}
    world.stopped.clear()
    await world.settle(200)
    expect([versionsOf(world), world.takeEffects().filter((effect) => effect.startsWith('kill'))]).toEqual([[NEXT], []])
  })

  it('F43 waits while a client does not support the new version', async () => {
    const world = await runningCluster()
    world.database.overrides = { clients: [OLD_CLIENT] }
    world.change({ version: NEXT })
    await passes(world, 3)
    expect([world.writes, world.takeEffects(), world.events]).toEqual([
      {},
      [],
      ['UnsupportedClient', 'ReconciliationTerminatedEarly'],
    ])
    expect(world.condition?.message).toBe(
      `1 client does not support version ${NEXT}: 10.9.9.9:5000 (7.1.67, log group shop)`,
    )
    world.change({ ignoreUpgradabilityChecks: true })
    await passes(world, 3)
    expect(world.takeEffects()).toEqual(['kill twice 10 addresses'])
  })

  it.each([
    [
      'the client uses the log group of the controller',
      { ...OLD_CLIENT, clients: [{ address: '10.9.9.9:5000', logGroup: 'fdb-kubernetes-operator' }] },
    ],
    ['the protocol of the client is unknown', { ...OLD_CLIENT, protocolVersion: 'Unknown' }],
    ['the client supports the new version', { ...OLD_CLIENT, protocolVersion: 'protocol of 7.3' }],
  ])('does not wait when %s', async (_, client) => {
    const world = await runningCluster()
    world.database.overrides = { clients: [client] }
    world.change({ version: NEXT })
    await passes(world, 3)
    expect(world.takeEffects()).toEqual(['kill twice 10 addresses'])
  })

  it.each([
    ['another protocol', '7.3.43', '7.1.67'],
    ['the same protocol', '7.1.67', '7.1.60'],
  ])('F44 refuses a downgrade to %s', async (_, version, older) => {
    const world = await runningCluster({ version })
    world.change({ version: older })
    await passes(world, 3)
    expect([world.writes, world.takeEffects()]).toEqual([{}, []])
    expect(world.condition?.message).toBe(
      `spec.version: found ${older}; expected at least the running version ${version}, because a downgrade can lose data`,
    )
  })
})

describe('a database in two Kubernetes clusters', () => {
  const part = (prefix: string, seedConnectionString?: string) => ({
    databaseConfiguration: { storage: 4 },
    processCounts: COUNTS,
    processGroupIDPrefix: prefix,
    lockOptions: { disableLocks: false },
    ...(seedConnectionString !== undefined && { seedConnectionString }),
  })

  async function twoParts(): Promise<readonly [ClusterWorld, ClusterWorld]> {
    const one = new ClusterWorld(part('dc1'))
    await one.settle()
    const { database, clock } = one
    const two = new ClusterWorld(part('dc2', one.target.status?.connectionString), { database, clock, place: 2 })
    two.nodeOf = (_, count) => `other-${count}`
    await two.settle()
    one.advance(1000)
    one.takeEffects()
    return [one, two]
  }

  it('is created once', async () => {
    const [one, two] = await twoParts()
    expect([one.database.processes.length, two.target.status?.configured]).toEqual([20, true])
    expect(one.takeEffects()).toEqual([])
  })

  it('F46 is upgraded by one controller, after both have registered their processes', async () => {
    const [one, two] = await twoParts()
    one.change({ version: NEXT })
    await passes(one, 4)
    expect([one.takeEffects(), one.condition?.reason]).toEqual([[], 'BounceProcesses'])
    expect(one.condition?.message).toMatch(/^the upgrade to 7.3.43 waits: processes are not prepared: dc2-/)
    two.change({ version: NEXT })
    await passes(two, 3)
    expect(one.takeEffects()).toEqual([])
    await passes(one, 2)
    await passes(two, 2)
    expect(one.takeEffects().filter((effect) => effect.startsWith('kill'))).toEqual(['kill twice 20 addresses'])
    expect([versionsOf(one), [...one.database.keys.keys()].filter((key) => key.includes('/upgrades/'))]).toEqual([
      [NEXT],
      [],
    ])
  })

  it('F47 is not upgraded while the database reports a process of no controller', async () => {
    const world = await runningCluster({ lockOptions: { disableLocks: false } })
    const [process] = world.database.processes
    if (process === undefined) throw new Error('the database has no process')
    const locality = { ...process.locality, instance_id: 'storage-99999' }
    const stray = { ...process, place: 9, locality, processGroup: 'storage-99999', addresses: ['10.9.9.9:4501'] }
    world.database.processes = [...world.database.processes, stray]
    world.change({ version: NEXT })
    await passes(world, 5)
    expect([world.takeEffects(), versionsOf(world), world.events.includes('UpgradeRequeued')]).toEqual([
      [],
      ['7.1.67'],
      true,
    ])
    expect(world.condition).toMatchObject({
      reason: 'BounceProcesses',
      message: 'the upgrade to 7.3.43 waits: processes are not prepared: storage-99999',
    })
    world.database.processes = world.database.processes.filter(({ place }) => place !== 9)
    await passes(world, 2)
    expect(world.takeEffects()).toEqual(['kill twice 10 addresses'])
  })

  it('restarts only its own processes for another change', async () => {
    const [one] = await twoParts()
    one.change({ processes: { general: { customParameters: ['knob_a=1'] } } })
    await one.settle()
    expect(one.takeEffects()).toEqual(['kill 10 addresses'])
  })
})

describe('a coordinator that fails', () => {
  it('F30 is replaced, and all Pods get the new connection string', async () => {
    const world = await runningCluster()
    const before = world.target.status?.connectionString
    world.stopped.add(world.idsOf('storage').find((id) => world.isCoordinator(id)) ?? '')
    world.advance(1)
    await passes(world, 5)
    const { connectionString } = world.target.status ?? {}
    expect([connectionString === before, world.takeEffects()]).toEqual([false, ['coordinators 3 addresses']])
    expect(world.configMap?.['data']).toMatchObject({ 'cluster-file': connectionString })
    expect(world.generations.needsCoordinatorChange).toBeUndefined()
  })
})

describe('a database that is unavailable', () => {
  it('F28 lets the pass continue and create Pods, and loses no mark or condition', async () => {
    const world = await runningCluster()
    const before = world.groups
    world.database.isDown = true
    await passes(world, 2)
    expect(world.target.status?.health).toMatchObject({ available: false, healthy: false })
    expect([world.groups, world.generations.missingDatabaseStatus]).toEqual([before, 1])
    world.change({ databaseConfiguration: { storage: 5 } })
    await passes(world, 2)
    expect([world.writes['create Pod'], world.takeEffects()]).toEqual([1, []])
    world.database.isDown = false
    await world.settle()
    expect(world.target.status?.configured).toBe(true)
  })
})

describe('unhealthy data distribution', () => {
  it('F29 defers a change of the configuration, and lets the pass continue', async () => {
    const world = await runningCluster()
    const status = await world.database.status()
    world.database.overrides = { data: { ...status.data, isHealthy: false } }
    world.change({ databaseConfiguration: { storage: 4, logs: 4 }, labels: { resourceLabels: { team: 'a' } } })
    await passes(world, 4)
    expect([world.takeEffects(), world.generations.needsConfigurationChange]).toEqual([[], 2])
    expect(world.pods.every(({ metadata }) => metadata.labels?.['team'] === 'a')).toBe(true)
    world.database.overrides = {}
    await world.settle()
    expect(world.takeEffects()).toEqual([
      'configure double ssd-2 usable_regions=1 logs=4 resolvers=1 log_routers=-1 remote_logs=-1 proxies=3 regions=[]',
    ])
  })
})

describe('F41 an upgrade to another patch version', () => {
  const TRANSACTION = 'stateless log cluster_controller'
  const exclusionOf = (classes: string) => ['exclude no_wait', 'exclude', 'include'].map((verb) => `${verb} ${classes}`)

  it.each([
    ['Delete', 0, 0, []],
    ['ReplaceTransactionSystem', 6, 2, exclusionOf(TRANSACTION)],
    ['Replace', 10, 6, exclusionOf(`storage ${TRANSACTION}`)],
  ] as const)(
    'strategy %s: restarts once, recreates all Pods, and replaces %d process groups',
    async (podUpdateStrategy, replaced, claims, exclusions) => {
      const world = await runningCluster({ automationOptions: { podUpdateStrategy, removalMode: 'All' } }, fourNodes())
      const before = new Set(world.groups.map(({ processGroupID }) => processGroupID))
      world.change({ version: '7.1.69' })
      await world.settle(300)
      expect(world.groups.filter(({ processGroupID }) => !before.has(processGroupID))).toHaveLength(replaced)
      expect(imagesOf(world)).toEqual([
        'foundationdb/foundationdb:7.1.69',
        'foundationdb/foundationdb-kubernetes-sidecar:7.1.69-1',
      ])
      expect(world.takeEffects().filter((effect) => !effect.startsWith('coordinators'))).toEqual([
        'kill 10 addresses',
        ...exclusions,
      ])
      expect([world.writes['create Pod'], world.writes['remove Pod']]).toEqual([10, 10])
      expect(world.writes['create PersistentVolumeClaim'] ?? 0).toBe(claims)
    },
  )
})
