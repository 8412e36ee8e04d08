import { describe, expect, it } from 'vitest'

import { runningCluster } from '../../../support/foundationdb/running-cluster.ts'

describe('a change to TLS and back', () => {
  it('F31 defers the change of coordinators until all processes have both addresses, and then drops the old ones', async () => {
    const world = await runningCluster()
    const coordinators = () => world.target.status?.connectionString?.split('@')[1]?.split(',') ?? []
    const expectChange = async (enableTls: boolean) => {
      world.change({ mainContainer: { enableTls } })
      await world.pass()
      await world.pass()
      expect([world.events.includes('DeferringCoordinatorChange'), world.takeEffects()]).toEqual([
        true,
        ['kill 10 addresses'],
      ])
      await world.settle(200)
      expect(world.takeEffects()).toEqual(['coordinators 3 addresses', 'kill 10 addresses'])
      expect(coordinators().map((address) => address.endsWith(':4500:tls'))).toEqual([enableTls, enableTls, enableTls])
      const kinds = new Set(world.database.processes.map(({ addresses }) => addresses.join().replace(/10[\d.]+:/g, '')))
      expect([...kinds]).toEqual([enableTls ? '4500:tls' : '4501'])
      expect(world.target.status?.requiredAddresses).toEqual({ tls: enableTls, nonTLS: !enableTls })
      world.advance(1000)
      world.takePasses()
    }
    await expectChange(true)
    await expectChange(false)
  })
})
