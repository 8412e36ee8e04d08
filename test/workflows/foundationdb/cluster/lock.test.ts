import { describe, expect, it } from 'vitest'

import { takeLock } from '../../../../activities/foundationdb/database/lock.ts'
import type { ClusterWorld } from '../../../support/foundationdb/cluster-world.ts'
import { runningCluster } from '../../../support/foundationdb/running-cluster.ts'
import type { ClusterSpec } from '../../../../workflows/foundationdb/cluster/kind.ts'
import { LOCK_KEY_PREFIX } from '../../../../workflows/foundationdb/model/cluster-settings.ts'

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
