import { describe, expect, it } from 'vitest'

import { ClusterParts, type TracedEffect } from '../../../support/foundationdb/cluster-parts.ts'
import type { ClusterSpec } from '../../../../workflows/foundationdb/cluster/kind.ts'
import type { Region } from '../../../../workflows/foundationdb/cluster/schema/database.ts'

const region = (id: string, priority: number): Region => ({
  datacenters: [
    { id, priority },
    { id: 'dc3', satellite: 1, priority: 1 },
  ],
  satellite_logs: 2,
  satellite_redundancy_mode: 'one_satellite_double',
})
const ONE_REGION = { storage: 5, usable_regions: 1, regions: [region('dc1', 1)] }
const TWO_REGIONS = { storage: 5, usable_regions: 2, regions: [region('dc1', 1), region('dc2', 0)] }

const inDataCentre = (dataCenter: string, processCounts: ClusterSpec['processCounts'] = {}) => ({
  dataCenter,
  processGroupIDPrefix: dataCenter,
  databaseConfiguration: ONE_REGION,
  processCounts,
})

/** The third data centre has one log only, as a satellite. */
async function threeDataCentres(): Promise<ClusterParts> {
  const counts = { log: 2, stateless: 1 }
  const satellite = inDataCentre('dc3', { log: 1, storage: -1, stateless: -1 })
  const parts = await ClusterParts.create(inDataCentre('dc1', counts), inDataCentre('dc2', counts), satellite)
  await parts.settle()
  parts.takeTrace()
  return parts
}

/** As in the command. @param priority such as `,"priority":1`. */
const regionText = (id: string, priority: string) =>
  `{"datacenters":[{"id":"${id}"${priority}},{"id":"dc3","priority":1,"satellite":1}],"satellite_logs":2,"satellite_redundancy_mode":"one_satellite_double"}`
const DC1 = regionText('dc1', ',"priority":1')
const INACTIVE_DC2 = regionText('dc2', ',"priority":-1')
const DC2 = regionText('dc2', '')

const configure = (usable: number, remote: number, ...regions: readonly string[]) =>
  `configure double ssd-2 usable_regions=${usable} logs=3 resolvers=1 log_routers=${remote} remote_logs=${remote} proxies=3 regions=[${regions.join(',').replaceAll('"', '\\"')}]`

const effectsIn = (trace: readonly TracedEffect[]) =>
  trace.map(({ effect }) =>
    effect.startsWith('coordinators') ? `${effect.split(' ').length - 1} coordinators` : effect,
  )
/** Effects of controllers without the lock. RemovePods repeats exclusions to verify them, which needs no lock. */
const unlocked = (trace: readonly TracedEffect[]) =>
  trace.filter(({ by, holder, effect }) => by !== holder && !/^exclude (?!no_wait)/.test(effect))

describe('a database in three data centres', () => {
  it('F52 gets a second region in stages and loses it again, each stage with the lock', async () => {
    const parts = await threeDataCentres()
    parts.change({ databaseConfiguration: TWO_REGIONS })
    await parts.settle()
    const added = parts.takeTrace()
    expect(effectsIn(added)).toEqual([
      configure(1, -1, DC1, INACTIVE_DC2),
      configure(2, -1, DC1, INACTIVE_DC2),
      configure(2, -1, DC1, DC2),
      configure(2, 3, DC1, DC2),
      '9 coordinators',
    ])
    parts.change({ databaseConfiguration: ONE_REGION })
    await parts.settle()
    const removed = parts.takeTrace()
    expect(effectsIn(removed)).toEqual([
      configure(2, 3, DC1, INACTIVE_DC2),
      configure(1, 3, DC1, INACTIVE_DC2),
      configure(1, 3, DC1),
      configure(1, -1, DC1),
      '3 coordinators',
    ])
    expect(unlocked([...added, ...removed])).toEqual([])
    const writes = parts.worlds.flatMap((world) => Object.keys(world.writes))
    expect(writes.filter((write) => write.startsWith('remove'))).toEqual([])
  })

  it('F53 has at most 4 of 9 coordinators in a data centre, and keeps them while no valid choice exists', async () => {
    const parts = await threeDataCentres()
    parts.change({ databaseConfiguration: TWO_REGIONS })
    await parts.settle()
    expect(parts.coordinatorsBy('dcid')).toEqual({ dc1: 4, dc2: 4, dc3: 1 })
    expect(Object.values(parts.coordinatorsBy('zoneid'))).toEqual(Array.from({ length: 9 }, () => 1))
    parts.takeTrace()
    const [one, two, satellite] = parts.worlds
    satellite?.stopped.add(satellite.idsOf('log')[0] ?? '')
    satellite?.advance(1)
    for (let count = 0; count < 3; count++) await parts.round()
    expect([parts.takeTrace(), [...parts.first.database.keys.keys()]]).toEqual([[], []])
    for (const world of [one, two])
      expect(world?.condition).toMatchObject({
        reason: 'ChangeCoordinators',
        message: expect.stringContaining('Could only select 8 processes, but 9 are required') as unknown,
      })
  })

  it('F54 is disturbed only by the controller that has the lock', async () => {
    const parts = await threeDataCentres()
    const env = [{ name: 'X', value: '1' }]
    parts.change({
      automationOptions: { podUpdateStrategy: 'Delete' },
      databaseConfiguration: { ...ONE_REGION, storage: 4 },
      processes: {
        general: {
          customParameters: ['knob_a=1'],
          podTemplate: { spec: { containers: [{ name: 'foundationdb', env }] } },
        },
      },
    })
    await parts.settle(400)
    const trace = parts.takeTrace()
    const verbs = (id: string) => new Set(trace.filter(({ by }) => by === id).map(({ effect }) => effect.split(' ')[0]))
    for (const id of ['dc1', 'dc2'])
      expect([...verbs(id)]).toEqual(expect.arrayContaining(['exclude', 'kill', 'remove']))
    expect(unlocked(trace)).toEqual([])
  })
})

describe('a database in three data halls', () => {
  it('F55 begins with 3 coordinators and then has 3 in each hall', async () => {
    const inHall = (dataHall: string) => ({
      dataHall,
      processGroupIDPrefix: dataHall,
      databaseConfiguration: { redundancy_mode: 'three_data_hall' as const },
      processCounts: { storage: 4, log: 2, stateless: 1 },
    })
    const parts = await ClusterParts.create(inHall('h1'), inHall('h2'), inHall('h3'))
    expect(parts.coordinatorsBy('data_hall')).toEqual({ h1: 3 })
    await parts.settle()
    expect(effectsIn(parts.takeTrace())).toEqual(['9 coordinators'])
    expect(parts.coordinatorsBy('data_hall')).toEqual({ h1: 3, h2: 3, h3: 3 })
    expect(Object.keys(parts.coordinatorsBy('zoneid'))).toHaveLength(9)
  })
})
