// The executables of the simulator as real processes.

import { copyFileSync } from 'node:fs'
import { join } from 'node:path'

import { afterAll, beforeAll, describe, expect, it } from 'vitest'

import { sampleOf } from '../../../support/matrix/form.ts'
import { ProcessCluster } from './process-cluster.ts'

// Node starts slowly on a busy machine.
const TIMEOUT_MS = 60_000

describe('three processes with a double database', { timeout: TIMEOUT_MS }, () => {
  const cluster = new ProcessCluster([1])
  const read = async () => (await cluster.fdbcli('getrange k l')).stdout

  beforeAll(async () => {
    for (const n of [1, 2, 3]) cluster.start(n)
    expect(await cluster.fdbcli('configure new double memory')).toMatchObject({
      exit: 0,
      stdout: expect.stringContaining('Database created') as string,
    })
    expect(await cluster.fdbcli('writemode on; set k1 one; set k2 two')).toMatchObject({ exit: 0 })
  }, TIMEOUT_MS)
  afterAll(async () => {
    await cluster.stop()
  })

  it('keep the keys when all processes are killed and start again', async () => {
    await cluster.kill(1, 2, 3)
    for (const n of [1, 2, 3]) cluster.start(n)
    expect(await read()).toContain("`k1' is `one'\n`k2' is `two'")
  })

  it('let a process exit with code 0 on request', async () => {
    const exited = cluster.exited(3)
    const { stdout } = await cluster.fdbcli(`kill; kill ${cluster.address(3)}; sleep 5`)
    expect(stdout).toContain('Attempted to kill 1 processes')
    expect(await exited).toBe(0)
    cluster.start(3)
    expect(await read()).toContain("`k2' is `two'")
  })

  it('follow a change of the coordinators, which outlives the death of one of them', async () => {
    const old = join(cluster.folder, 'old.cluster')
    copyFileSync(cluster.file, old)
    const addresses = [1, 2, 3].map((n) => cluster.address(n))
    expect(await cluster.fdbcli(`coordinators ${addresses.join(' ')}`)).toMatchObject({
      exit: 0,
      stdout: expect.stringContaining('Coordination state changed') as string,
    })
    expect(cluster.clusterFileOf(2)).toContain(`@${addresses.join(',')}`)
    expect((await cluster.fdbcli('get k1', old)).stdout).toBe("`k1' is `one'\n")
    await cluster.kill(1)
    expect(await read()).toContain("`k1' is `one'\n`k2' is `two'")
    const { stdout } = await cluster.fdbcli('coordinators')
    expect(stdout).toContain(`Cluster coordinators (3): ${addresses.join(',')}`)
  })

  it('do not let a process of another minor version join', async () => {
    cluster.start(4, '7.3.1')
    await expect.poll(async () => (await cluster.fdbcli('status json')).stdout).toContain(cluster.address(4))
    const { stdout } = await cluster.fdbcli('status json')
    const status = JSON.parse(stdout) as {
      cluster: { incompatible_connections: string[]; processes: Record<string, { address: string }> }
    }
    expect(status.cluster.incompatible_connections).toEqual([cluster.address(4)])
    const joined = Object.values(status.cluster.processes).map(({ address }) => address)
    expect(joined.sort()).toEqual([2, 3].map((n) => cluster.address(n)))
  })

  // The leader is none of the next coordinators: these must not elect another leader, which has no state.
  it('keep their keys and their exclusions while the coordinators change again and again', async () => {
    cluster.start(1)
    await cluster.fdbcli('exclude no_wait locality_zoneid:node-9')
    for (const n of sampleOf('fdbserver: coordinators', [1, 2, 3, 1, 2, 3, 1, 2, 3, 1, 2, 3], 2)) {
      await expect.poll(async () => (await cluster.fdbcli('status json')).stdout).toContain(cluster.address(n))
      const { exit, stdout } = await cluster.fdbcli(`coordinators ${cluster.address(n)}`)
      expect({ exit, stdout }).toMatchObject({ exit: 0 })
      expect(await read()).toContain("`k1' is `one'\n`k2' is `two'")
      expect((await cluster.fdbcli('exclude')).stdout).toContain('locality_zoneid:node-9')
    }
  })
})
