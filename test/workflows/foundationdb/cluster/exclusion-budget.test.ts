import { describe, expect, it } from 'vitest'

import { runningCluster } from '../../../support/foundationdb/running-cluster.ts'
import { budgetOf } from '../../../../workflows/foundationdb/cluster/steps/exclude-instances.ts'
import type { ClusterWorld } from '../../../support/foundationdb/cluster-world.ts'

const BUDGET = { automationOptions: { exclusionPolicy: 'budget' as const } }

/** The process groups of the class, those with a coordinator last. */
const groupsOf = (world: ClusterWorld, processClass: string) =>
  world
    .idsOf(processClass)
    .toSorted((one, other) => Number(world.isCoordinator(one)) - Number(world.isCoordinator(other)))

const excluded = (world: ClusterWorld) => world.takeEffects().filter((effect) => effect.startsWith('exclude no_wait'))

describe('F32 the budget of exclusions', () => {
  it.each([
    [10, 0, 2],
    [10, 1, 1],
    [10, 2, 0],
    [20, 0, 12],
    [20, 10, 2],
    [8, 0, 0],
    [0, 0, 0],
  ])('%d valid of 10 desired, %d ongoing, fault tolerance 2: allows %d', (valid, ongoing, allowed) => {
    expect(budgetOf({ valid, desired: 10, ongoing, faultTolerance: 2 })).toBe(allowed)
  })

  it('excludes as many as the fault tolerance permits while the replacements are missing for more than 5 minutes', async () => {
    const world = await runningCluster(BUDGET)
    world.fails = { create: ({ kind }) => (kind === 'Pod' ? QUOTA : undefined) }
    world.change({ processGroupsToRemove: groupsOf(world, 'storage').slice(0, 2) })
    for (let count = 0; count < 9; count++) await world.pass()
    expect(excluded(world)).toEqual([])
    world.advance(300)
    await world.pass()
    await world.pass()
    // One group of four, by a fault tolerance of one; the exclusion of the other one waits for a replacement.
    expect(world.database.exclusions.size).toBe(1)
    world.fails = {}
    await world.settle(200)
    expect([world.idsOf('storage').length, excluded(world)]).toEqual([
      4,
      ['exclude no_wait storage', 'exclude no_wait storage'],
    ])
  })

  it('excludes all process groups of a transaction class together, or none', async () => {
    const world = await runningCluster(BUDGET)
    world.fails = { create: ({ kind }) => (kind === 'Pod' ? QUOTA : undefined) }
    world.change({ processGroupsToRemove: [...world.idsOf('log')] })
    await world.pass()
    world.advance(400)
    for (let count = 0; count < 3; count++) await world.pass()
    expect(excluded(world)).toEqual([])
    world.fails = {}
    await world.settle(200)
    expect(excluded(world)).toEqual(['exclude no_wait log'])
  })
})

const QUOTA = { code: 'Forbidden', message: 'exceeded quota', retryable: true }
