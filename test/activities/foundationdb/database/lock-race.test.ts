// Three controllers compete for the lock of one database, through the executables of the simulator. Source: spec/foundationdb.md 3.3, 3.6.

import { afterAll, beforeAll, describe, expect, it } from 'vitest'

import type { Database } from '../../../../activities/foundationdb/database/database.ts'
import { fdbcliDatabases } from '../../../../activities/foundationdb/database/fdbcli-database.ts'
import { releaseLock, takeLock, updateDenyList } from '../../../../activities/foundationdb/database/lock.ts'
import { findTools } from '../../../../activities/foundationdb/database/tools.ts'
import { DEFAULT_VERSION } from '../../../../activities/foundationdb/simulator/version.ts'
import { LOCK_KEY_PREFIX } from '../../../../workflows/foundationdb/model/cluster-settings.ts'
import { unpackTuple } from '../../../../workflows/foundationdb/database/tuple.ts'
import { ProcessCluster } from '../simulator/process-cluster.ts'

// Node starts slowly on a busy machine.
const TIMEOUT_MS = 60_000
const NOW = 1_600_000_000
const CONTROLLERS = ['dc1', 'dc2', 'dc3']

describe('three controllers of one database', { timeout: TIMEOUT_MS }, () => {
  // A transaction may last five simulated seconds.
  const cluster = new ProcessCluster([1], 1)
  const tools = findTools(cluster.bin)
  let database: Database
  let winner = ''
  let successor = ''

  beforeAll(async () => {
    cluster.start(1)
    expect(await cluster.fdbcli('configure new single memory')).toMatchObject({ exit: 0 })
    database = fdbcliDatabases({ tools, environment: cluster.environment, timeouts: { usual: 60, long: 60 } }).open(
      { connectionString: `test:abc@${cluster.address(1)}`, version: DEFAULT_VERSION },
      new AbortController().signal,
    )
  }, TIMEOUT_MS)
  afterAll(async () => {
    await cluster.stop()
  })

  const optionsOf = (lockID: string) => ({ lockID, keyPrefix: LOCK_KEY_PREFIX, durationSeconds: 600 })
  const others = (...ids: readonly string[]) => CONTROLLERS.filter((id) => !ids.includes(id))

  /** All controllers decide before one of them commits. @returns the controllers that got the lock, and the reasons of the others. */
  async function compete(ids: readonly string[], now: number) {
    const all = simultaneous(database, ids.length)
    const results = await Promise.allSettled(ids.map((id) => takeLock(all, optionsOf(id), now)))
    return {
      winners: ids.filter((_, at) => results[at]?.status === 'fulfilled'),
      refusals: results.flatMap((result) => (result.status === 'rejected' ? [result.reason as unknown] : [])),
    }
  }

  async function holder(): Promise<readonly unknown[]> {
    const [pair] = await database.readPrefix(Buffer.from(`${LOCK_KEY_PREFIX}/global`, 'latin1'))
    return unpackTuple(pair?.value ?? new Uint8Array())
  }

  it('L8 one of them gets the free lock', async () => {
    const { winners, refusals } = await compete(CONTROLLERS, NOW)
    const conflict: unknown = expect.objectContaining({
      kind: 'refused',
      message: expect.stringContaining('1020') as unknown,
    })
    expect([winners.length, refusals]).toEqual([1, [conflict, conflict]])
    winner = winners[0] ?? ''
    expect(await holder()).toEqual([winner, NOW, NOW + 600])
  })

  it('L3, L4 one of the others takes it over after its end, not before, when the holder has died', async () => {
    const early = await compete(others(winner), NOW + 600)
    const held: unknown = expect.objectContaining({
      message: expect.stringContaining(`"${winner}" has the lock`) as unknown,
    })
    expect(early).toEqual({ winners: [], refusals: [held, held] })
    const { winners } = await compete(others(winner), NOW + 601)
    expect(winners).toHaveLength(1)
    successor = winners[0] ?? ''
    expect(await holder()).toEqual([successor, NOW + 601, NOW + 1201])
  })

  it('L5, L6 a controller on the deny list loses it and does not get it again, also when it is free', async () => {
    await updateDenyList(database, optionsOf(winner), [{ id: successor, isAllowed: false }])
    const denied: unknown = expect.objectContaining({ message: `lock: controller "${successor}" is on the deny list` })
    const { winners, refusals } = await compete([successor, winner], NOW + 602)
    expect([winners, refusals]).toEqual([[winner], [denied]])
    await releaseLock(database, optionsOf(winner), NOW + 603)
    expect(await compete([successor], NOW + 604)).toEqual({ winners: [], refusals: [denied] })
  })
})

/** The database, with transactions that commit after `count` of them have decided. */
function simultaneous(database: Database, count: number): Database {
  let missing = count
  let resolve = () => {}
  const haveDecided = new Promise<void>((done) => (resolve = done))
  return {
    ...database,
    transact: (decide) =>
      database.transact(async (read) => {
        try {
          return await decide(read)
        } finally {
          missing--
          if (missing === 0) resolve()
          await haveDecided
        }
      }),
  }
}
