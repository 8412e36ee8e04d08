import { describe, expect, it } from 'vitest'

import { ClusterWorld } from '../../../support/foundationdb/cluster-world.ts'
import { COUNTS, runningCluster } from '../../../support/foundationdb/running-cluster.ts'

describe('a cluster with unified images', () => {
  it('is created without calls of sidecars', async () => {
    const world = new ClusterWorld({ imageType: 'unified', processCounts: COUNTS })
    world.fails = { call: ({ name }) => (name === 'syncPods' ? NO_SIDECAR : undefined) }
    await world.settle()
    expect([world.pods.length, world.database.processes.length, world.generations]).toEqual([9, 9, { reconciled: 1 }])
    expect(world.takeEffects().map((effect) => effect.split(' ')[1])).toEqual(['new'])
    const again = await world.pass()
    expect([again.writes, again.status]).toEqual([[], {}])
  })

  it('restarts its processes once for another command line, after all monitors have it', async () => {
    const world = await runningCluster({ imageType: 'unified' })
    world.change({ processes: { general: { customParameters: ['knob_a=1'] } } })
    await world.pass()
    expect([world.condition?.reason, world.takeEffects()]).toEqual(['UpdatePodConfig', []])
    await world.settle()
    expect([world.takeEffects(), world.writes['remove Pod']]).toEqual([['kill 10 addresses'], undefined])
    expect(world.database.processes.every(({ commandLine }) => commandLine.includes('--knob_a=1'))).toBe(true)
  })
})

const NO_SIDECAR = { code: 'Unreachable', message: 'there is no sidecar', retryable: true }
