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
  it('gets a new version, keeps the earlier due time and the greater seq, and combines its flags by OR', async () => {
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

describe('a run that backs off after its own write', () => {
  const run = 'task/u1/j1'
  const ownWrite = async () => await upsert({ writer: run, may_start: true, cause: 'job ID' })
  const retry = async () =>
    await upsert({ seq: 0, due: later(5000), foreign_event: true, may_start: true, writer: run, cause: 'retry 1' })

  it('is woken when its delay has passed, not immediately', async () => {
    await ownWrite()
    await retry()
    expect(await test.wakes()).toMatchObject([{ due: later(5000), foreign_event: true, may_start: true }])
    expect(await claim(later(4999))).toEqual([])
  })

  it('is woken when its delay has passed, even if a dispatcher still held the wake of its pass', async () => {
    await upsert({ foreign_event: true })
    const taken = only(await claim())
    await ownWrite()
    await retry()
    await acknowledgeWake(test.db, taken)
    expect(await test.wakes()).toMatchObject([{ due: later(5000), foreign_event: true }])
  })

  it('is woken immediately by a change of another writer', async () => {
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
  it('lists the first causes and counts the others', async () => {
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
  it('takes only due wakes, oldest first', async () => {
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

  it('gives each wake to only one of many claimers', async () => {
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

    it('takes wakes of each namespace in turn, regardless of their number and age', async () => {
      await crowd('crowd', 50)
      await crowd('some', 2, { due: later(100) })
      await crowd('one', 1, { due: later(200) })
      expect(await taken({})).toEqual(['crowd0', 'crowd1', 'one0', 'some0'])
      expect(await taken({})).toEqual(['crowd2', 'crowd3', 'crowd4', 'some1'])
    })

    it('gives the next turn to the namespace with the fewest recent turns', async () => {
      await crowd('crowd', 5)
      await crowd('one', 1, { due: later(200) })
      expect(await taken({ limit: 1 })).toEqual(['crowd0'])
      expect(await taken({ limit: 1, recentTurns: { crowd: 1 } })).toEqual(['one0'])
    })

    it('takes wakes that may start a run only up to the given number of starts', async () => {
      await crowd('crowd', 5, { may_start: true })
      await crowd('late', 2, { due: later(200) })
      expect(await taken({ starts: 0 })).toEqual(['late0', 'late1'])
      expect(await taken({ starts: 0 })).toEqual([])
      expect(await nextWakeDue(test.db, { cluster: 'c', starts: 0 })).toEqual(later(10_999))
      expect(await taken({ starts: 3 })).toEqual(['crowd0', 'crowd1', 'crowd2'])
      expect(await nextWakeDue(test.db, { cluster: 'c', starts: 1 })).toEqual(later(3))
    })
  })

  it('skips wakes that another process has locked', async () => {
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

  it('takes no wake of another cluster in the same journal', async () => {
    await upsertWakes(test.db, [wake({ cluster: 'other' })], NOW)
    await openJob(test.db, job({ cluster: 'other' }))
    expect(await claim()).toEqual([])
    expect(await nextWakeDue(test.db, { cluster: 'c' })).toBeUndefined()
    expect(await jobsToLookUp(test.db, { cluster: 'c' }, later(60_000))).toEqual([])
    expect(await jobsToLookUp(test.db, { cluster: 'other' }, later(60_000))).toHaveLength(1)
  })

  it('takes over a wake whose lease has expired, with the flags that events have added meanwhile', async () => {
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

describe('a claimed wake', () => {
  it('is deleted when its dispatcher acknowledges it', async () => {
    await upsert()
    expect(await acknowledgeWake(test.db, only(await claim()))).toBe('deleted')
    expect(await test.wakes()).toEqual([])
  })

  it('stays if it was renewed meanwhile, with the due time and the flags of the renewal only', async () => {
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

  it('keeps the due time and the flags of a renewal when its dispatcher postpones it', async () => {
    await upsert({ foreign_event: true })
    const taken = only(await claim())
    await postponeWakes(test.db, [{ wake: taken, due: later(5000) }])
    expect(await test.wakes()).toMatchObject([{ due: later(5000), lease_owner: null, foreign_event: true }])
    const again = only(await claim(later(5000)))
    await upsert({ due: later(6000), may_start: true })
    await postponeWakes(test.db, [{ wake: again, due: later(9000) }])
    expect(await test.wakes()).toMatchObject([{ due: later(6000), may_start: true, foreign_event: true }])
  })

  it('stays unchanged when a dispatcher acknowledges it after another dispatcher has taken over the lease', async () => {
    await upsert()
    const slow = only(await claim())
    await upsert()
    const taken = only(await claim(later(1000), 'd2'))
    expect(await acknowledgeWake(test.db, slow)).toBe('renewed')
    expect(await test.wakes()).toMatchObject([{ lease_owner: 'runs 2 d2', version: taken.version }])
  })
})

describe('the retry budget', () => {
  const take = async (now: Date, namespace = 'ns', controller = 'task') =>
    await test.db
      .transaction()
      .execute(async (trx) => await takeRetryToken(trx, { cluster: 'c', controller, namespace }, now))

  it('allows 100 retries immediately, then 10 per second', async () => {
    const delays: number[] = []
    for (let count = 0; count < 103; count++) delays.push(await take(NOW))
    expect(delays.slice(0, 100).every((delay) => delay === 0)).toBe(true)
    expect(delays.slice(100)).toEqual([100, 200, 300])
    expect(await take(later(1000))).toBe(0)
  })

  it('holds at most 100 tokens', async () => {
    await take(NOW)
    const much = later(3_600_000)
    for (let count = 0; count < 100; count++) await take(much)
    expect(await take(much)).toBe(100)
  })

  it('is separate for each controller and namespace, so that retries of one do not delay another', async () => {
    for (let count = 0; count < 200; count++) await take(NOW)
    expect(await take(NOW)).toBeGreaterThan(10_000)
    expect(await take(NOW, 'other')).toBe(0)
    expect(await take(NOW, 'ns', 'another')).toBe(0)
  })

  it('delays a retry by at most 1,000 s, and its row is deleted when the budget is full again', async () => {
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
