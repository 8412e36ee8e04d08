// The creation of a cluster, and passes over a cluster that is reconciled. Source: spec/foundationdb.md 6.2, F1, F2.

import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'

import { ClusterWorld } from '../../../support/foundationdb/cluster-world.ts'

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['Date'] })
})

afterEach(() => {
  vi.useRealTimers()
})

describe('a new cluster', () => {
  it('gets its objects and its database, which is created once', async () => {
    const world = new ClusterWorld()
    await world.reconcile()
    expect(world.pods).toHaveLength(17)
    expect(world.names('claims')).toHaveLength(8)
    expect(world.names('services')).toEqual([])
    expect(world.database.effects).toEqual([
      'configure new double ssd-2 usable_regions=1 logs=3 resolvers=1 log_routers=-1 remote_logs=-1 proxies=3 regions=[]',
    ])
    expect(world.status).toMatchObject({
      configured: true,
      runningVersion: '7.1.67',
      health: { available: true, healthy: true, fullReplication: true },
      generations: { reconciled: 1 },
      desiredProcessGroups: 17,
      reconciledProcessGroups: 17,
    })
  })

  it('is not written again', async () => {
    const world = new ClusterWorld()
    await world.reconcile()
    world.forget()
    const { status, ended } = await world.pass()
    expect({ status, ended, writes: world.writes, events: world.events, effects: world.database.effects }).toEqual({
      status: {},
      ended: 'Converged',
      writes: [],
      events: [],
      effects: [],
    })
  })
})
