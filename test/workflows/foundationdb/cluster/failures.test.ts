import { describe, expect, it } from 'vitest'

import { ClusterWorld } from '../../../support/foundationdb/cluster-world.ts'
import { runningCluster } from '../../../support/foundationdb/running-cluster.ts'
import { CHANGED } from '../../../../workflows/kit/run/next-pass.ts'
import type { ClusterSpec } from '../../../../workflows/foundationdb/cluster/kind.ts'

async function passes(world: ClusterWorld, count: number): Promise<void> {
  for (let pass = 0; pass < count; pass++) await world.pass()
}

/** Names of created Pods. */
const created = (world: ClusterWorld) =>
  world.courses.flatMap(({ writes }) =>
    writes.flatMap(({ verb, object }) => (verb === 'create' && object.kind === 'Pod' ? [object.metadata.name] : [])),
  )

describe('a spec that no webhook has rejected', () => {
  it('is reported by the rules of the webhook, and the pass does nothing else', async () => {
    const world = new ClusterWorld({ logGroup: 'a; touch /tmp/x' })
    await passes(world, 3)
    expect(world.condition).toMatchObject({ status: 'False', reason: 'ValidateSpec' })
    expect(world.condition?.message).toContain('spec.logGroup: found "a; touch /tmp/x"; expected letters')
    expect([world.writes, world.groups, world.takeEffects()]).toEqual([{}, [], []])
    world.change({ logGroup: 'a' })
    await world.settle()
    expect(world.generations.reconciled).toBe(2)
  })
})

describe('a coordinator that does not answer', () => {
  it('is not chosen again while the database still reports its process', async () => {
    const world = await runningCluster()
    const { coordinators } = await world.database.status()
    const [lost] = coordinators
    world.database.overrides = {
      coordinators: coordinators.map((one) => ({ ...one, isReachable: one.address !== lost?.address })),
    }
    await world.pass()
    const [effect = ''] = world.takeEffects()
    expect(effect).toMatch(/^coordinators /)
    expect(effect).not.toContain(lost?.address)
  })
})

describe('a write that the API server refuses', () => {
  it('F36 a conflict of the status in every second pass leads to the same objects and one database', async () => {
    const world = new ClusterWorld()
    const conflict = { code: CHANGED, message: 'the object has been modified', retryable: true }
    for (let count = 0; count < 30; count++) {
      world.fails = count % 2 === 0 ? { status: conflict } : {}
      await world.pass()
    }
    world.fails = {}
    await world.settle()
    expect([world.pods.length, new Set(created(world)).size, world.groups.length]).toEqual([16, 16, 16])
    expect(world.writes).toMatchObject({ 'create Pod': 16, 'create PersistentVolumeClaim': 7 })
    expect(world.takeEffects().map((effect) => effect.slice(0, 'configure new'.length))).toEqual(['configure new'])
  })

  it('F38 a Pod that exists but is not listed is not created twice', async () => {
    const world = await runningCluster()
    world.change({ databaseConfiguration: { storage: 5 } })
    await world.pass()
    const [name = ''] = created(world)
    world.unlisted.add(name)
    await passes(world, 2)
    expect(new Set(created(world))).toEqual(new Set([name]))
    world.unlisted.clear()
    await world.settle()
    expect([world.pods.length, world.claims.length, world.takeEffects()]).toEqual([11, 7, []])
  })

  it('F39 an exceeded quota of some Pods does not delay the others', async () => {
    const world = await runningCluster()
    world.fails = {
      create: ({ kind, metadata }) => (kind === 'Pod' && metadata.name.startsWith('db-log') ? QUOTA : undefined),
    }
    world.change({
      databaseConfiguration: { storage: 5 },
      processCounts: { log: 3, stateless: 4, cluster_controller: 1 },
    })
    await passes(world, 3)
    expect([world.podsOf('storage').length, world.podsOf('stateless').length, world.podsOf('log').length]).toEqual([
      5, 4, 2,
    ])
    expect([world.condition, world.generations]).toMatchObject([
      { reason: 'AddPods', message: 'exceeded quota' },
      { reconciled: 1, hasUnhealthyProcess: 2 },
    ])
    world.fails = {}
    await world.settle()
    expect([world.writes['create Pod'], world.podsOf('log').length]).toEqual([3, 3])
  })
})

const QUOTA = { code: 'Forbidden', message: 'exceeded quota', retryable: true }
const KNOB: Partial<ClusterSpec> = { processes: { general: { customParameters: ['knob_a=1'] } } }

describe('F48 a process that is missing at a restart', () => {
  /** @param seconds since when the process is missing. */
  async function restartWithout(automationOptions: NonNullable<ClusterSpec['automationOptions']>, seconds: number) {
    const world = await runningCluster({ automationOptions })
    // Pods have the new configuration, and only the restart remains.
    world.change({ ...KNOB, minimumUptimeSecondsForBounce: 100_000 })
    await passes(world, 2)
    const [id = ''] = world.idsOf('stateless')
    world.stopped.add(id)
    world.advance(1)
    world.change({ minimumUptimeSecondsForBounce: 1 })
    await world.pass()
    world.clock.seconds += seconds - 30
    world.takeEffects()
    await world.pass()
    return { world, id, effects: world.takeEffects() }
  }

  it('is an error by default', async () => {
    const { world, id, effects } = await restartWithout({}, 3600)
    expect([effects, world.condition]).toMatchObject([
      [],
      { reason: 'BounceProcesses', message: `could not find address for process group ${id}` },
    ])
  })

  it.each([
    [20, 0],
    [40, 1],
  ])('with policy ignore: after %d s, processes are restarted %d times', async (seconds, count) => {
    const { effects } = await restartWithout({ missingProcessPolicy: 'ignore' }, seconds)
    expect(effects).toEqual(Array.from({ length: count }, () => 'kill 9 addresses'))
  })
})
