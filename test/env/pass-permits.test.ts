// Pass permits of a controller that limits its concurrent passes, and how many wakes a dispatcher may deliver to it:
// against a real PostgreSQL.

import { type RawBuilder, sql } from 'kysely'
import { describe, expect, inject, it } from 'vitest'
import { openDatabase } from '../../activities/journal/database.ts'
import { recordLastError } from '../../activities/journal/write/stuck-runs.ts'
import { countPasses } from '../../activities/journal/write/jobs.ts'
import {
  releasePermit,
  prunePermits,
  acquirePermit,
  permitHolders,
} from '../../activities/journal/write/pass-permits.ts'
import { PassCapacity } from '../../worker/reconciler/capacity.ts'
import { createRegistry } from '../../worker/server/registry.ts'
import { defineLevel, nop } from '../../workflows/kit/index.ts'
import { later, NOW } from '../activities/journal/build-events.ts'
import { job } from '../activities/journal/build-job.ts'
import { endJob, openJob } from '../activities/journal/one-row.ts'
import { useJournal } from '../activities/journal/use-journal.ts'

const test = useJournal(inject('servers').databaseUrl)

const turn = (uid: string, controller = 'shop', cluster = 'c') => ({ cluster, controller, uid })
const take = async (uid: string, now = NOW, { controller = 'shop', cluster = 'c', limit = 2 } = {}) => {
  const of = { ...turn(uid, controller, cluster), workflowID: `shop/${uid}`, namespace: 'ns', name: uid }
  return await acquirePermit(test.db, of, limit, now)
}
const taken = async (now = NOW) => {
  const found = await permitHolders(test.db, { cluster: 'c', controllers: ['shop', 'till'] }, now)
  return Object.fromEntries([...found].map(([controller, uids]) => [controller, uids.length]))
}
/** More than a process has connections. */
const ASKING = Array.from({ length: 30 }, (_, index) => `u${index + 10}`)
/** While another process is stopped in a transaction that has done this. */
const stopped = async <T>(did: RawBuilder<unknown>, act: () => Promise<T>): Promise<T> => {
  const other = openDatabase(test.url, undefined, { idleTransactionMs: 0 })
  try {
    return await other.transaction().execute(async (trx) => {
      await did.execute(trx)
      return await act()
    })
  } finally {
    await other.destroy()
  }
}
/** How many statements wait for a lock. */
const waiting = async () => {
  const { rows } = await sql`
    select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`.execute(test.db)
  return rows.length
}
const open = async (uid: string) =>
  await openJob(test.db, job({ controller: 'shop', uid, workflow_id: `shop/${uid}`, run_id: 'run', job_id: '' }))

describe('the pass permits of a controller', () => {
  it('do not exceed its limit, and an object without a permit gets a wake that is due at once', async () => {
    expect([await take('a'), await take('b'), await take('c')]).toEqual([true, true, false])
    expect(await taken()).toEqual({ shop: 2 })
    expect(await test.wakes()).toMatchObject([{ uid: 'c', due: NOW, foreign_event: true, may_start: true }])
    await releasePermit(test.db, turn('a'))
    expect([await take('c'), await take('a')]).toEqual([true, false])
  })

  it('are one per object, also when its run requests or releases it several times', async () => {
    expect([await take('a'), await take('a'), await take('b'), await take('a')]).toEqual([true, true, true, true])
    for (let times = 0; times < 2; times++) await releasePermit(test.db, turn('a'))
    expect(await taken()).toEqual({ shop: 1 })
  })

  it('are counted separately for each controller and cluster', async () => {
    for (const uid of ['a', 'b']) await take(uid)
    expect([await take('a', NOW, { controller: 'till' }), await take('c', NOW, { cluster: 'other' })]).toEqual([
      true,
      true,
    ])
    expect(await taken()).toEqual({ shop: 2, till: 1 })
  })

  it('do not exceed its limit when 20 objects request one at the same moment', async () => {
    const got = await Promise.all(Array.from({ length: 20 }, async (_, index) => await take(`u${index}`)))
    expect(got.filter(Boolean)).toHaveLength(2)
    expect(await taken()).toEqual({ shop: 2 })
    expect(await test.wakes()).toHaveLength(18)
  })

  it('are requested again after 200 ms while a stopped process holds the lock, and other controllers are not delayed', async () => {
    const lock = sql`select pg_advisory_xact_lock(hashtextextended('pawl passes c shop', 0))`
    await stopped(lock, async () => {
      const asking = ASKING.map(async (uid) => await take(uid))
      expect(await take('a', NOW, { controller: 'till' })).toBe(true)
      expect(await Promise.all(asking)).toEqual(ASKING.map(() => false))
    })
    const wakes = await test.wakes()
    expect(wakes.map(({ uid, due, may_start }) => ({ uid, due, may_start }))).toEqual(
      ASKING.map((uid) => ({ uid, due: later(200), may_start: true })),
    )
    expect([await take('u10'), await take('u11'), await take('u12')]).toEqual([true, true, false])
  })

  it('are granted to other objects while the wake of an object without a permit is locked', async () => {
    for (const uid of ['a', 'b', 'c']) await take(uid)
    const asking = await stopped(sql`select from wake where uid = 'c' for update`, async () => {
      const again = take('c')
      await expect.poll(waiting).toBe(1)
      await releasePermit(test.db, turn('a'))
      expect(await take('d')).toBe(true)
      return { again }
    })
    expect(await asking.again).toBe(false)
  })

  it('last as long as their run is open, and one minute without a job row', async () => {
    await open('a')
    await take('a')
    await take('b')
    expect(await taken(later(59_999))).toEqual({ shop: 2 })
    expect(await taken(later(60_001))).toEqual({ shop: 1 })
    expect(await take('c', later(60_001))).toBe(true)
    await endJob(test.db, 'shop/a', later(60_001))
    await prunePermits(test.db, later(60_001))
    expect(await taken(later(60_001))).toEqual({ shop: 1 })
  })

  it('do not count while their run waits for fixed code, nor after one minute without a pass of their run', async () => {
    await open('a')
    await take('a')
    await recordLastError(test.db, 'shop/a', { reason: 'Bug', message: 'no' })
    expect(await taken()).toEqual({})
    await open('b')
    await countPasses(test.db, [{ workflowID: 'shop/b', runID: 'run' }], NOW)
    // By a worker that was stopped before that, and went on after it.
    await take('b', later(1))
    expect([await taken(later(60_000)), await taken(later(60_002))]).toEqual([{ shop: 1 }, {}])
    await countPasses(test.db, [{ workflowID: 'shop/b', runID: 'run' }], later(2))
    expect(await taken(later(60_002))).toEqual({ shop: 1 })
  })
})

describe('the pass capacity of a controller', () => {
  const target = { apiVersion: 'example.com/v1', kind: 'Shop', plural: 'shops' }
  const bounded = defineLevel({ name: 'shop', target, queries: {}, plan: nop, settings: { passes: 3 } })
  const free = defineLevel({ name: 'till', target, queries: {}, plan: nop })
  const left = async (room: PassCapacity) =>
    Object.fromEntries(await room.remaining(test.db, { cluster: 'c', controllers: ['shop', 'till'] }, NOW))
  const takeOne = async (uid: string) => {
    expect(await take(uid, NOW, { limit: 3 })).toBe(true)
  }

  it('is its limit minus the running passes and the wakes in delivery; each object counts once', async () => {
    const room = new PassCapacity(createRegistry([bounded, free], []))
    // The other controller has no limit.
    expect(room.acquire({ controller: 'till', uid: 'a' })).toBeUndefined()
    expect(await left(room)).toEqual({ shop: 3 })
    const arrived = ['a', 'a', 'b'].map((uid) => room.acquire({ controller: 'shop', uid }))
    expect(await left(room)).toEqual({ shop: 1 })
    await takeOne('a')
    expect(await left(room)).toEqual({ shop: 1 })
    await takeOne('elsewhere')
    expect(await left(room)).toEqual({ shop: 0 })
    arrived.forEach((arrive) => arrive?.())
    expect(await left(room)).toEqual({ shop: 1 })
    const again = room.acquire({ controller: 'shop', uid: 'b' })
    // A repeated release does not release the next wake of the object.
    arrived.forEach((arrive) => arrive?.())
    expect(await left(room)).toEqual({ shop: 0 })
    again?.()
    expect(await left(room)).toEqual({ shop: 1 })
    await releasePermit(test.db, turn('a'))
    expect(await left(room)).toEqual({ shop: 2 })
  })

  it('grows again when another process releases a permit without notifying this one', async () => {
    const room = new PassCapacity(createRegistry([bounded], []))
    room.acquire({ controller: 'shop', uid: 'a' })
    await takeOne('a')
    expect(await left(room)).toEqual({ shop: 2 })
    await releasePermit(test.db, turn('a'))
    expect(await left(room)).toEqual({ shop: 3 })
  })
})
