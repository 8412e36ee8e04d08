import { describe, expect, it } from 'vitest'

import { explainCluster } from '../../../../workflows/foundationdb/cluster/explain.ts'
import { wishedMs } from '../../../../workflows/kit/index.ts'
import { ClusterWorld } from '../../../support/foundationdb/cluster-world.ts'
import { runningCluster } from '../../../support/foundationdb/running-cluster.ts'

describe('a new cluster', () => {
  it('F1 gets its objects, and its database is created once', async () => {
    const world = new ClusterWorld({ databaseConfiguration: { storage: 4 }, processCounts: { cluster_controller: 1 } })
    await world.settle()
    const { writes } = world
    expect(writes).toMatchObject({ 'create Pod': 17, 'create PersistentVolumeClaim': 8 })
    expect(Object.keys(writes).filter((write) => write.startsWith('remove'))).toEqual([])
    expect(world.takeEffects()).toEqual([
      'configure new double ssd-2 usable_regions=1 logs=3 resolvers=1 log_routers=-1 remote_logs=-1 proxies=3 regions=[]',
    ])
    expect(world.target.status).toMatchObject({
      generations: { reconciled: 1 },
      configured: true,
      health: { available: true, healthy: true, fullReplication: true },
      runningVersion: '7.1.67',
      desiredProcessGroups: 17,
      reconciledProcessGroups: 17,
    })
    expect(world.events.at(-1)).toBe('ReconciliationComplete')
  })

  it.each([
    [{ redundancy_mode: 'single' as const }, { storage: 1, log: 3, stateless: 8 }, 1],
    [{ redundancy_mode: 'double' as const }, { storage: 3, log: 4, stateless: 9 }, 3],
    [{ redundancy_mode: 'triple' as const }, { storage: 5, log: 5, stateless: 10 }, 5],
  ])(
    '%j: has process groups and coordinators for its redundancy',
    async (databaseConfiguration, counts, coordinators) => {
      const world = new ClusterWorld({ databaseConfiguration })
      await world.settle()
      const found = Object.keys(counts).map((name) => [name, world.podsOf(name).length])
      expect(Object.fromEntries(found)).toEqual(counts)
      expect(world.target.status?.connectionString?.split(',')).toHaveLength(coordinators)
    },
  )

  it('F20 is ignored while spec.skip is true', async () => {
    const world = new ClusterWorld({ skip: true })
    const { writes, status, ended } = await world.pass()
    expect([writes, status, ended]).toEqual([[], {}, 'Converged'])
  })

  it('waits while too few Pods run for its coordinators', async () => {
    const world = new ClusterWorld()
    world.fails = { create: ({ kind }) => (kind === 'Pod' ? QUOTA : undefined) }
    await world.pass()
    await world.pass()
    expect(world.condition).toMatchObject({
      reason: 'GenerateInitialClusterFile',
      message: 'Waiting for Pods: 0 running Pods can be coordinators; expected 3',
    })
    expect(world.takeEffects()).toEqual([])
    world.fails = {}
    await world.settle()
    expect(world.pods).toHaveLength(16)
  })

  it('is not configured again before its database reports that it does not exist, after the answer of the first time is lost', async () => {
    const world = new ClusterWorld()
    world.fails = { call: ({ name }) => (name === 'configure' ? LOST : undefined) }
    while (world.target.status?.configured === undefined) await world.pass()
    world.fails = {}
    world.database.overrides = { isUnconfigured: undefined }
    for (let count = 0; count < 3; count++) await world.pass()
    expect([world.takeEffects(), world.condition?.message]).toEqual([
      [],
      'the database may exist already; its state is read again',
    ])
    world.database.overrides = {}
    await world.settle()
    expect(world.takeEffects()).toEqual([expect.stringMatching(/^configure new /)])
  })

  it('keeps its process groups and its database when the result of a pass is lost', async () => {
    const world = new ClusterWorld()
    for (let count = 0; count < 12; count++) {
      const before = world.target
      await world.pass()
      // Every second status is lost at the end of the pass; statuses that a step saves are not.
      if (count % 2 === 0) world.target = { ...before, status: savedOf(world.target.status, before.status) }
    }
    await world.settle()
    expect(world.pods).toHaveLength(16)
    expect(world.takeEffects().filter((effect) => effect.startsWith('configure new'))).toHaveLength(1)
  })
})

const LOST = { code: 'Timeout', message: 'no heartbeat', retryable: true }
const QUOTA = { code: 'Forbidden', message: 'exceeded quota', retryable: true }

/** The fields that steps save by themselves; the others as before the pass. */
function savedOf<Status extends object>(after: Status | undefined, before: Status | undefined): Status {
  const { processGroups, connectionString, configured } = (after ?? {}) as Record<string, unknown>
  return { ...before, processGroups, connectionString, configured } as unknown as Status
}

describe('a reconciled cluster', () => {
  it('F2 causes no write and no effect in a further pass, at any time, and reads the status of its database once', async () => {
    const world = await runningCluster()
    for (const seconds of [1, 60, 10_000]) {
      world.advance(seconds)
      world.database.statusReads = 0
      const { writes, status, events, ended } = await world.pass()
      expect([writes, status, events, ended]).toEqual([[], {}, [], 'Converged'])
      expect(world.database.statusReads).toBe(1)
    }
    expect(world.takeEffects()).toEqual([])
  })
})

describe('a reconciled cluster whose data distribution has not started', () => {
  it.each([
    [20, 3000],
    [200, 30_000],
  ])('%d s after the recovery, is read again in %d ms, without writes', async (secondsSince, delayMs) => {
    const world = new ClusterWorld()
    const { data, recovery } = await world.database.status()
    world.database.overrides = { data: { ...data, isHealthy: undefined } }
    while (world.generations.reconciled !== 1) await world.pass()
    expect(world.target.status?.health).toMatchObject({ available: true, healthy: false })
    expect(explainCluster(world.target)).toEqual({ phase: 'Reconciled' })
    world.database.overrides = { ...world.database.overrides, recovery: { ...recovery, secondsSince } }
    const { outcome, writes, status, events } = await world.pass()
    expect([wishedMs(outcome), writes, status, events]).toEqual([delayMs, [], {}, []])
    world.database.overrides = {}
    await world.settle()
    expect(world.target.status?.health).toMatchObject({ healthy: true })
  })
})

describe('the explanation of a cluster', () => {
  const cluster = (status: object, spec: object = {}) => ({ metadata: { name: 'sample', generation: 2 }, spec, status })
  const blocked = { type: 'Reconciled', status: 'False', reason: 'AddPods', message: 'exceeded quota' }
  it.each([
    ['without a status', cluster({}), { phase: 'Pending' }],
    ['of an earlier generation', cluster({ generations: { reconciled: 1 } }), { phase: 'Reconciling' }],
    [
      'with a blocked step',
      cluster({ generations: { reconciled: 1 }, conditions: [blocked] }),
      {
        phase: 'Reconciling',
        summary: 'AddPods: exceeded quota',
        ownPods: { 'foundationdb.org/fdb-cluster-name': 'sample' },
      },
    ],
    [
      'with labels of its own',
      cluster({ generations: { reconciled: 1 }, conditions: [blocked] }, { labels: { matchLabels: { app: 'db' } } }),
      { phase: 'Reconciling', summary: 'AddPods: exceeded quota', ownPods: { app: 'db' } },
    ],
    ['that is complete', cluster({ generations: { reconciled: 2 } }), { phase: 'Reconciled' }],
    [
      'that only waits for the end of removed objects',
      cluster({ generations: { reconciled: 2, hasPendingRemoval: 2 } }),
      { phase: 'Reconciled' },
    ],
    [
      'that was complete and waits for a repair',
      cluster({ generations: { reconciled: 2, hasUnhealthyProcess: 2 } }),
      { phase: 'Reconciling' },
    ],
  ])('%s', (_, object, explanation) => {
    expect(explainCluster(object)).toEqual(explanation)
  })
})
