// Wakes and the retry budget against a real PostgreSQL. The sweep is in journal-sweep.test.ts.

import { describe, expect, inject, it } from 'vitest'
import { pruneRetryBuckets, takeRetryToken } from '../../activities/journal/write/retry-limits.ts'
import { LONGEST_REFILL_MS } from '../../workflows/kit/index.ts'
import { jobsToLookUp } from '../../activities/journal/write/resync.ts'
import {
  type Claim,
  claimWakes,
  type NewWake,
  nextWakeDue,
  postponeWakes,
  upsertWakes,
  type Wake,
} from '../../activities/journal/write/wakes.ts'
import { later, NOW } from '../activities/journal/build-events.ts'
import { job } from '../activities/journal/build-job.ts'
import { acknowledgeWake, openJob } from '../activities/journal/one-row.ts'
import { useJournal } from '../activities/journal/use-journal.ts'

const test = useJournal(inject('servers').databaseUrl)
const wake = (overrides: Partial<NewWake> = {}): NewWake => ({
  controller: 'task',
  uid: 'u1',
  job_id: '',
  cluster: 'c',
  namespace: 'ns',
  name: 'n',
  seq: 1,
  due: NOW,
  foreign_event: false,
  may_start: false,
  writer: null,
  cause: 'test',
  ...overrides,
})
const upsert = async (overrides: Partial<NewWake> = {}) => await upsertWakes(test.db, [wake(overrides)], NOW)
const claim = async (now: Date = NOW, owner = 'd1', limit = 10) =>
  await claimWakes(test.db, { cluster: 'c', owner, limit, leaseMs: 1000, now })
const only = (wakes: readonly Wake[]): Wake => {
  expect(wakes).toHaveLength(1)
  return wakes[0]!
}

describe('a pending wake that is renewed', () => {
  it('draws a new version, keeps the smaller due time and the greater seq, and ors its marks', async () => {
    await upsert({ due: later(5000), seq: 7, may_start: true })
    const [first] = await test.wakes()
    await upsert({ due: later(1000), seq: 3, foreign_event: true })
    const [second] = await test.wakes()
    expect(second).toMatchObject({ due: later(1000), seq: 7, may_start: true, foreign_event: true })
    expect(second!.version).toBeGreaterThan(first!.version)
    await upsert({ due: later(9000), seq: 8 })
    expect(await test.wakes()).toMatchObject([{ due: later(1000), seq: 8 }])
  })
})

describe('a run that backs off after a write of its own', () => {
  const run = 'task/u1/j1'
  const ownWrite = async () => await upsert({ writer: run, may_start: true, cause: 'job ID' })
  const retry = async () =>
    await upsert({ seq: 0, due: later(5000), foreign_event: true, may_start: true, writer: run, cause: 'retry 1' })

  it('is woken when its delay is over, not at once', async () => {
    await ownWrite()
    await retry()
    expect(await test.wakes()).toMatchObject([{ due: later(5000), foreign_event: true, may_start: true }])
    expect(await claim(later(4999))).toEqual([])
  })

  it('is woken when its delay is over, too, when the wake of its pass was still taken', async () => {
    await upsert({ foreign_event: true })
    const taken = only(await claim())
    await ownWrite()
    await retry()
    await acknowledgeWake(test.db, taken)
    expect(await test.wakes()).toMatchObject([{ due: later(5000), foreign_event: true }])
  })

  it('is woken at once by what somebody else did', async () => {
    await ownWrite()
    await upsert({ foreign_event: true })
    await retry()
    expect(await test.wakes()).toMatchObject([{ due: NOW, foreign_event: true }])
    await test.db.deleteFrom('wake').execute()
    await retry()
    await upsert({ foreign_event: true })
    expect(await test.wakes()).toMatchObject([{ due: NOW, foreign_event: true }])
  })
})

describe('a wake with many causes', () => {
  it('names some of them and counts the rest', async () => {
    const causes = Array.from({ length: 500 }, (_, index) => `deploy item item-${index} finished`)
    await upsertWakes(
      test.db,
      [...causes, ...causes].map((cause) => wake({ cause })),
      NOW,
    )
    const [{ cause }] = (await test.wakes()) as [Wake]
    expect(cause.length).toBeLessThanOrEqual(500)
    expect(cause).toMatch(/^deploy item item-0 finished; deploy item item-1 finished; .* and 48\d more$/)
    await upsert({ seq: 9, cause: 'x'.repeat(30_000) })
    expect((await test.wakes())[0]!.cause).toMatch(/^x{480}/)
  })
})

describe('claiming wakes', () => {
  it('takes those that are due, oldest first, and leaves the others', async () => {
    await upsertWakes(
      test.db,
      [wake({ uid: 'a', due: later(20) }), wake({ uid: 'b', due: later(10) }), wake({ uid: 'c', due: later(99) })],
      NOW,
    )
    expect(await claim(later(5))).toEqual([])
    expect((await claim(later(50), 'd1', 1)).map(({ uid }) => uid)).toEqual(['b'])
    expect((await claim(later(50))).map(({ uid }) => uid)).toEqual(['a'])
    expect(await nextWakeDue(test.db, { cluster: 'c' })).toEqual(later(99))
  })

  it('gives each wake to one of many claimers', async () => {
    await upsertWakes(
      test.db,
      Array.from({ length: 50 }, (_, index) => wake({ uid: `u${index}` })),
      NOW,
    )
    const taken = await Promise.all(Array.from({ length: 8 }, (_, index) => claim(NOW, `d${index}`, 9)))
    const uids = taken.flat().map(({ uid }) => uid)
    expect(new Set(uids).size).toBe(uids.length)
    await claim(NOW, 'last', 99)
    expect((await test.wakes()).every(({ lease_owner }) => lease_owner !== null)).toBe(true)
  })

  describe('of several namespaces', () => {
    const crowd = async (namespace: string, count: number, overrides: Partial<NewWake> = {}) =>
      await upsertWakes(
        test.db,
        Array.from({ length: count }, (_, index) =>
          wake({ uid: `${namespace}${index}`, namespace, due: later(index), ...overrides }),
        ),
        NOW,
      )
    const taken = async (overrides: Partial<Claim>) =>
      (await claimWakes(test.db, { cluster: 'c', owner: 'd', limit: 4, leaseMs: 1000, now: later(9999), ...overrides }))
        .map(({ uid }) => uid)
        .toSorted()

    it('takes one of each in turn, however many one has and however long they wait', async () => {
      await crowd('crowd', 50)
      await crowd('some', 2, { due: later(100) })
      await crowd('one', 1, { due: later(200) })
      expect(await taken({})).toEqual(['crowd0', 'crowd1', 'one0', 'some0'])
      expect(await taken({})).toEqual(['crowd2', 'crowd3', 'crowd4', 'some1'])
    })

    it('gives the next turn to the one that has had fewest lately', async () => {
      await crowd('crowd', 5)
      await crowd('one', 1, { due: later(200) })
      expect(await taken({ limit: 1 })).toEqual(['crowd0'])
      expect(await taken({ limit: 1, recentTurns: { crowd: 1 } })).toEqual(['one0'])
    })

    it('takes those that begin nothing first, and of the others as many as may begin', async () => {
      await crowd('crowd', 5, { may_start: true })
      await crowd('late', 2, { due: later(200) })
      expect(await taken({ starts: 0 })).toEqual(['late0', 'late1'])
      expect(await taken({ starts: 0 })).toEqual([])
      expect(await nextWakeDue(test.db, { cluster: 'c', starts: 0 })).toEqual(later(10_999))
      expect(await taken({ starts: 3 })).toEqual(['crowd0', 'crowd1', 'crowd2'])
      expect(await nextWakeDue(test.db, { cluster: 'c', starts: 1 })).toEqual(later(3))
    })
  })

  it('passes over what another process is about to take', async () => {
    await upsertWakes(
      test.db,
      Array.from({ length: 4 }, (_, index) => wake({ uid: `u${index}`, due: later(index), may_start: true })),
      NOW,
    )
    await test.db.transaction().execute(async (trx) => {
      await trx.selectFrom('wake').select('uid').where('uid', 'in', ['u0', 'u1']).forUpdate().execute()
      expect((await claim(later(9), 'd2', 2)).map(({ uid }) => uid).toSorted()).toEqual(['u2', 'u3'])
    })
  })

  it('takes none of another cluster whose worker shares the journal', async () => {
    await upsertWakes(test.db, [wake({ cluster: 'other' })], NOW)
    await openJob(test.db, job({ cluster: 'other' }))
    expect(await claim()).toEqual([])
    expect(await nextWakeDue(test.db, { cluster: 'c' })).toBeUndefined()
    expect(await jobsToLookUp(test.db, { cluster: 'c' }, later(60_000))).toEqual([])
    expect(await jobsToLookUp(test.db, { cluster: 'other' }, later(60_000))).toHaveLength(1)
  })

  it('takes over a wake whose lease ran out, with what came meanwhile', async () => {
    await upsert()
    await claim()
    await upsert({ foreign_event: true, may_start: true })
    expect(await claim(later(999), 'd2')).toEqual([])
    expect(only(await claim(later(1000), 'd2'))).toMatchObject({
      lease_owner: 'runs 2 d2',
      foreign_event: true,
      may_start: true,
      next_due: null,
    })
  })
})

describe('a wake that was taken', () => {
  it('is deleted when it is acknowledged', async () => {
    await upsert()
    expect(await acknowledgeWake(test.db, only(await claim()))).toBe('deleted')
    expect(await test.wakes()).toEqual([])
  })

  it('stays when something came meanwhile, with the time and the marks of what came only', async () => {
    await upsert({ foreign_event: true, may_start: true })
    const taken = only(await claim())
    await upsert({ due: later(60_000), writer: 'task/u1/j1', cause: 'retry 1' })
    expect(await acknowledgeWake(test.db, taken)).toBe('renewed')
    expect(await test.wakes()).toMatchObject([
      { due: later(60_000), foreign_event: false, may_start: false, lease_owner: null, next_due: null },
    ])
    await upsert({ due: later(10), foreign_event: true })
    expect(await test.wakes()).toMatchObject([{ due: later(10), foreign_event: true }])
  })

  it('keeps what came meanwhile when it is postponed', async () => {
    await upsert({ foreign_event: true })
    const taken = only(await claim())
    await postponeWakes(test.db, [{ wake: taken, due: later(5000) }])
    expect(await test.wakes()).toMatchObject([{ due: later(5000), lease_owner: null, foreign_event: true }])
    const again = only(await claim(later(5000)))
    await upsert({ due: later(6000), may_start: true })
    await postponeWakes(test.db, [{ wake: again, due: later(9000) }])
    expect(await test.wakes()).toMatchObject([{ due: later(6000), may_start: true, foreign_event: true }])
  })

  it('is left alone by an acknowledgement whose lease another dispatcher has taken over', async () => {
    await upsert()
    const slow = only(await claim())
    await upsert()
    const taken = only(await claim(later(1000), 'd2'))
    expect(await acknowledgeWake(test.db, slow)).toBe('renewed')
    expect(await test.wakes()).toMatchObject([{ lease_owner: 'runs 2 d2', version: taken.version }])
  })
})

describe('the budget of retries', () => {
  const take = async (now: Date, namespace = 'ns', controller = 'task') =>
    await test.db
      .transaction()
      .execute(async (trx) => await takeRetryToken(trx, { cluster: 'c', controller, namespace }, now))

  it('gives a hundred at once, then ten a second', async () => {
    const delays: number[] = []
    for (let count = 0; count < 103; count++) delays.push(await take(NOW))
    expect(delays.slice(0, 100).every((delay) => delay === 0)).toBe(true)
    expect(delays.slice(100)).toEqual([100, 200, 300])
    expect(await take(later(1000))).toBe(0)
  })

  it('fills up to a hundred and no further', async () => {
    await take(NOW)
    const much = later(3_600_000)
    for (let count = 0; count < 100; count++) await take(much)
    expect(await take(much)).toBe(100)
  })

  it('is one for each controller and namespace, so that nobody pays for what others owe', async () => {
    for (let count = 0; count < 200; count++) await take(NOW)
    expect(await take(NOW)).toBeGreaterThan(10_000)
    expect(await take(NOW, 'other')).toBe(0)
    expect(await take(NOW, 'ns', 'another')).toBe(0)
  })

  it('owes no more than a subject may have to wait for its own sake, and is forgotten when it is full again', async () => {
    const owed = { cluster: 'c', controller: 'task', namespace: 'ns', tokens: -9_999, updated_at: NOW }
    await test.db.insertInto('retry_turn').values(owed).execute()
    expect(await take(NOW)).toBe(1_000_000)
    expect(await take(NOW)).toBe(1_000_000)
    const prune = async (now: Date) =>
      await test.db.transaction().execute(async (trx) => await pruneRetryBuckets(trx, now))
    expect(await prune(later(LONGEST_REFILL_MS))).toBe(0)
    expect(await prune(later(LONGEST_REFILL_MS + 1))).toBe(1)
  })
})
