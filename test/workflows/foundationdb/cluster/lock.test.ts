import { describe, expect, it } from 'vitest'

import { takeLock } from '../../../../activities/foundationdb/database/lock.ts'
import { ClusterWorld } from '../../../support/foundationdb/cluster-world.ts'
import { CallRecorder } from '../../../support/foundationdb/disturbed-calls.ts'
import { runningCluster } from '../../../support/foundationdb/running-cluster.ts'
import type { ClusterSpec } from '../../../../workflows/foundationdb/cluster/kind.ts'
import { LOCK_KEY_PREFIX } from '../../../../workflows/foundationdb/model/cluster-settings.ts'
import { packTuple, unpackTuple } from '../../../../workflows/foundationdb/database/tuple.ts'

const LOCKED: Partial<ClusterSpec> = { processGroupIDPrefix: 'dc1', lockOptions: { disableLocks: false } }
const OTHER = { lockID: 'dc2', keyPrefix: LOCK_KEY_PREFIX, durationSeconds: 600 }
const DENY_LIST = `${LOCK_KEY_PREFIX}/denyList/`

const environment = {
  podTemplate: { spec: { containers: [{ name: 'foundationdb', env: [{ name: 'X', value: '1' }] }] } },
}

async function passes(world: ClusterWorld, count: number): Promise<void> {
  for (let pass = 0; pass < count; pass++) await world.pass()
}

describe('a step with an effect on the whole database', () => {
  it.each<[string, (world: ClusterWorld) => Partial<ClusterSpec>]>([
    ['UpdateDatabaseConfiguration', () => ({ databaseConfiguration: { storage: 4, logs: 4 } })],
    ['ExcludeInstances', () => ({ databaseConfiguration: { storage: 3 } })],
    ['BounceProcesses', () => ({ processes: { general: { customParameters: ['knob_a=1'] } } })],
    ['UpdatePods', () => ({ automationOptions: { podUpdateStrategy: 'Delete' }, processes: { general: environment } })],
    [
      'ChangeCoordinators',
      (world) => ({
        processGroupsToRemoveWithoutExclusion: world
          .idsOf('storage')
          .filter((id) => world.isCoordinator(id))
          .slice(0, 1),
      }),
    ],
  ])(
    '%s: waits without effects while another controller has the lock, and continues after its end',
    async (step, change) => {
      const world = await runningCluster(LOCKED)
      await takeLock(world.database, OTHER, world.clock.seconds)
      world.change(change(world))
      await passes(world, 3)
      expect(world.condition).toMatchObject({
        reason: step,
        message: expect.stringContaining('lock: controller "dc2" has the lock until') as unknown,
      })
      expect([world.takeEffects(), world.writes['remove Pod']]).toEqual([[], undefined])
      world.advance(700)
      await world.settle(200)
      expect([...world.database.keys.keys()]).toEqual([])
    },
  )

  it('is refused if another controller has taken the lock over before the effect', async () => {
    const world = await runningCluster(LOCKED)
    world.change({ databaseConfiguration: { storage: 4, logs: 4 } })
    // The worker ends after it has taken the lock, and the next one continues the pass later.
    world.recorder = new CallRecorder(undefined, (call) => {
      if (call !== 'call configure') return
      const { seconds } = world.clock
      world.database.keys.set(`${LOCK_KEY_PREFIX}/global`, packTuple(['dc2', seconds, seconds + 600]))
    })
    await world.pass()
    expect([world.takeEffects(), world.condition?.message]).toEqual([
      [],
      expect.stringContaining('controller "dc2" has the lock until'),
    ])
  })

  it('needs no lock where locks are disabled', async () => {
    const world = await runningCluster({ ...LOCKED, lockOptions: { disableLocks: true } })
    await takeLock(world.database, OTHER, world.clock.seconds)
    world.change({ databaseConfiguration: { storage: 4, logs: 4 } })
    await passes(world, 2)
    expect(world.takeEffects()).toHaveLength(1)
  })
})

describe('the deny list of the spec', () => {
  it('F51 is written to the database, whose other entries stay', async () => {
    const world = await runningCluster(LOCKED)
    world.database.keys.set(`${DENY_LIST}dc9`, Buffer.from('dc9'))
    const change = async (denyList: NonNullable<ClusterSpec['lockOptions']>['denyList']) => {
      world.change({ lockOptions: { disableLocks: false, ...(denyList && { denyList }) } })
      await world.settle()
      return [...world.database.keys.keys()].map((key) => key.slice(DENY_LIST.length)).sort()
    }
    expect(await change([{ id: 'dc2' }])).toEqual(['dc2', 'dc9'])
    expect(world.target.status?.locks).toEqual({ lockDenyList: ['dc2', 'dc9'] })
    expect(await change(undefined)).toEqual(['dc2', 'dc9'])
    expect(await change([{ id: 'dc2', allow: true }])).toEqual(['dc9'])
  })
})

describe('three controllers of one database', () => {
  const CHANGES: readonly (readonly [string, string, (world: ClusterWorld) => Partial<ClusterSpec>])[] = [
    ['dc1', 'call exclude', (world) => ({ processGroupsToRemove: world.idsOf('log').slice(0, 1) })],
    ['dc2', 'call kill', () => ({ processes: { general: { customParameters: ['knob_a=1'] } } })],
    ['dc3', 'remove Pod', () => ({ processes: { general: environment } })],
  ]

  /** Parts of one database with their own objects. */
  async function parts(): Promise<readonly ClusterWorld[]> {
    const worlds: ClusterWorld[] = []
    for (const [at, [prefix]] of CHANGES.entries()) {
      const [first] = worlds
      const spec: Partial<ClusterSpec> = {
        databaseConfiguration: { storage: 3 },
        processCounts: { log: 1, stateless: -1 },
        processGroupIDPrefix: prefix,
        lockOptions: { disableLocks: false, lockDurationMinutes: 60 },
        automationOptions: { podUpdateStrategy: 'Delete' },
        ...(first !== undefined && { seedConnectionString: first.target.status?.connectionString ?? '' }),
      }
      const world = new ClusterWorld(spec, first && { database: first.database, clock: first.clock, place: at + 1 })
      world.nodeOf = (_, count) => `${prefix}-${count}`
      world.passSeconds = 100
      await world.settle()
      worlds.push(world)
    }
    worlds[0]?.advance(1000)
    return worlds
  }

  it('F54 exclude, restart and recreate processes one after the other, each with its own lock', async () => {
    const worlds = await parts()
    const trace: { readonly by: string; readonly holder: unknown; readonly isHeld: boolean }[] = []
    for (const [at, [by, effect, change]] of CHANGES.entries()) {
      const world = worlds[at]!
      world.change(change(world))
      world.recorder = new CallRecorder(undefined, (call, input) => {
        // The confirmation of an exclusion changes nothing.
        if (call !== effect || (input as { readonly waits?: boolean } | undefined)?.waits === true) return
        const value = world.database.keys.get(`${LOCK_KEY_PREFIX}/global`)
        const [holder, , end] = value === undefined ? [] : unpackTuple(value)
        trace.push({ by, holder, isHeld: Number(end) >= world.clock.seconds })
      })
    }
    const waiting = new Set<ClusterWorld>()
    const isReconciled = ({ generations, condition }: ClusterWorld) =>
      generations.reconciled === 2 && condition?.status === 'True'
    for (let pass = 0; pass < 60 && !worlds.every(isReconciled); pass++) {
      for (const world of worlds) {
        await world.pass()
        if (world.condition?.message.includes('has the lock until') === true) waiting.add(world)
      }
    }
    expect(worlds.map(({ generations }) => generations)).toEqual(worlds.map(() => ({ reconciled: 2 })))
    expect(trace.filter(({ by, holder, isHeld }) => holder !== by || !isHeld)).toEqual([])
    const turns = trace.map(({ by }) => by).filter((by, at, all) => by !== all[at - 1])
    expect(turns.toSorted()).toEqual(['dc1', 'dc2', 'dc3'])
    expect(waiting.size).toBeGreaterThan(1)
  })
})
