// Wakes and the retry budget against a real PostgreSQL. The sweep is in journal-sweep.test.ts; the delays of failing
// passes are in rate-limits.test.ts.

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
import { job, newWake } from '../activities/journal/build-job.ts'
import { acknowledgeWake, openJob } from '../activities/journal/one-row.ts'
import { useJournal } from '../activities/journal/use-journal.ts'

const test = useJournal(inject('servers').databaseUrl)
const { wakes } = test
/** Stores wakes that neither are foreign nor may start a run, unless the test says so. */
const store = async (...rows: Partial<NewWake>[]) =>
  await upsertWakes(
    test.db,
    rows.map((row) => newWake({ foreign_event: false, may_start: false, ...row })),
    NOW,
  )
const claim = async (now: Date = NOW, claimed: Partial<Claim> = {}) =>
  await claimWakes(test.db, { cluster: 'c', owner: 'd1', limit: 10, leaseMs: 1000, now, ...claimed })
const uidsOf = (taken: readonly Wake[]) => taken.map(({ uid }) => uid).toSorted()
const only = (wakes: readonly Wake[]): Wake => {
  expect(wakes).toHaveLength(1)
  return wakes[0]!
}

describe('a pending wake that is renewed', () => {
  it('gets a new version, keeps the earlier due time and the greater seq, and combines its flags by OR', async () => {
    await store({ due: later(5000), seq: 7, may_start: true })
    const [first] = await wakes()
    await store({ due: later(1000), seq: 3, foreign_event: true })
    const [second] = await wakes()
    expect(second).toMatchObject({ due: later(1000), seq: 7, may_start: true, foreign_event: true })
    expect(second!.version).toBeGreaterThan(first!.version)
    await store({ due: later(9000), seq: 8 })
    expect(await wakes()).toMatchObject([{ due: later(1000), seq: 8 }])
  })

  it('lists the first causes and counts the others', async () => {
    const causes = Array.from({ length: 500 }, (_, index) => ({ cause: `deploy item item-${index} finished` }))
    await store(...causes, ...causes)
    const [{ cause }] = (await wakes()) as [Wake]
    expect(cause.length).toBeLessThanOrEqual(500)
    expect(cause).toMatch(/^deploy item item-0 finished; deploy item item-1 finished; .* and 48\d more$/)
    await store({ seq: 9, cause: 'x'.repeat(30_000) })
    expect((await wakes())[0]!.cause).toMatch(/^x{480}/)
  })
})

describe('a run that backs off after its own write', () => {
  const writer = 'task/u1/j1'
  const ownWrite = { writer, may_start: true, cause: 'job ID' }
  const change = { foreign_event: true }
  const retry = { seq: 0, due: later(5000), foreign_event: true, may_start: true, writer, cause: 'retry 1' }

  it('is woken when its delay has passed, not immediately', async () => {
    await store(ownWrite)
    await store(retry)
    expect(await wakes()).toMatchObject([{ due: later(5000), foreign_event: true, may_start: true }])
    expect(await claim(later(4999))).toEqual([])
  })

  it('is woken when its delay has passed, even if a dispatcher still held the wake of its pass', async () => {
    await store(change)
    const taken = only(await claim())
    await store(ownWrite)
    await store(retry)
    await acknowledgeWake(test.db, taken)
    expect(await wakes()).toMatchObject([{ due: later(5000), foreign_event: true }])
  })

  it.each([
    ['before the failure', [ownWrite, change, retry]],
    ['after the failure', [retry, change]],
  ])('is woken immediately by a change of another writer %s', async (_, rows) => {
    for (const row of rows) await store(row)
    expect(await wakes()).toMatchObject([{ due: NOW, foreign_event: true }])
  })
})

describe('claiming wakes', () => {
  it('takes only due wakes, oldest first', async () => {
    await store({ uid: 'a', due: later(20) }, { uid: 'b', due: later(10) }, { uid: 'c', due: later(99) })
    expect(await claim(later(5))).toEqual([])
    expect(uidsOf(await claim(later(50), { limit: 1 }))).toEqual(['b'])
    expect(uidsOf(await claim(later(50)))).toEqual(['a'])
    expect(await nextWakeDue(test.db, { cluster: 'c' })).toEqual(later(99))
  })

  it('gives each wake to only one of many claimers', async () => {
    await store(...Array.from({ length: 50 }, (_, index) => ({ uid: `u${index}` })))
    const claimers = Array.from({ length: 8 }, (_, index) => claim(NOW, { owner: `d${index}`, limit: 9 }))
    const uids = uidsOf((await Promise.all(claimers)).flat())
    expect(new Set(uids).size).toBe(uids.length)
    await claim(NOW, { limit: 99 })
    expect((await wakes()).every(({ lease_owner }) => lease_owner !== null)).toBe(true)
  })

  describe('of several namespaces', () => {
    const crowd = async (namespace: string, count: number, overrides: Partial<NewWake> = {}) => {
      const uids = Array.from({ length: count }, (_, index) => ({ uid: `${namespace}${index}`, due: later(index) }))
      await store(...uids.map((wake) => ({ ...wake, namespace, ...overrides })))
    }
    const taken = async (overrides: Partial<Claim> = {}) => uidsOf(await claim(later(9999), { limit: 4, ...overrides }))

    it('takes wakes of each namespace in turn, regardless of their number and age', async () => {
      await crowd('crowd', 50)
      await crowd('some', 2, { due: later(100) })
      await crowd('one', 1, { due: later(200) })
      expect(await taken()).toEqual(['crowd0', 'crowd1', 'one0', 'some0'])
      expect(await taken()).toEqual(['crowd2', 'crowd3', 'crowd4', 'some1'])
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

  it('with a limit takes at most that many of both kinds together, and first the wakes that start no run', async () => {
    await store(...['a', 'b', 'c', 'd'].map((uid) => ({ uid, may_start: uid < 'c' })))
    const three = { limit: 3, starts: 3, most: 3 }
    expect(uidsOf(await claim(NOW, three))).toEqual(expect.arrayContaining(['c', 'd']))
    expect(await claim(NOW, three)).toHaveLength(1)
  })

  it('skips wakes that another process has locked', async () => {
    await store(...[0, 1, 2, 3].map((index) => ({ uid: `u${index}`, due: later(index), may_start: true })))
    await test.db.transaction().execute(async (trx) => {
      await trx.selectFrom('wake').select('uid').where('uid', 'in', ['u0', 'u1']).forUpdate().execute()
      expect(uidsOf(await claim(later(9), { owner: 'd2', limit: 2 }))).toEqual(['u2', 'u3'])
    })
  })

  it('takes no wake of another cluster in the same journal', async () => {
    await store({ cluster: 'other' })
    await openJob(test.db, job({ cluster: 'other' }))
    expect(await claim()).toEqual([])
    expect(await nextWakeDue(test.db, { cluster: 'c' })).toBeUndefined()
    expect(await jobsToLookUp(test.db, { cluster: 'c' }, later(60_000))).toEqual([])
    expect(await jobsToLookUp(test.db, { cluster: 'other' }, later(60_000))).toHaveLength(1)
  })

  it('takes over a wake whose lease has expired, with the flags that events have added meanwhile', async () => {
    await store({})
    await claim()
    const flags = { foreign_event: true, may_start: true }
    await store(flags)
    expect(await claim(later(999), { owner: 'd2' })).toEqual([])
    const taken = only(await claim(later(1000), { owner: 'd2' }))
    expect(taken).toMatchObject({ lease_owner: 'runs 2 d2', ...flags, next_due: null })
  })
})

describe('a claimed wake', () => {
  it('is deleted when its dispatcher acknowledges it', async () => {
    await store({})
    expect(await acknowledgeWake(test.db, only(await claim()))).toBe('deleted')
    expect(await wakes()).toEqual([])
  })

  it('stays if it was renewed meanwhile, with the due time and the flags of the renewal only', async () => {
    await store({ foreign_event: true, may_start: true })
    const taken = only(await claim())
    await store({ due: later(60_000), writer: 'task/u1/j1', cause: 'retry 1' })
    expect(await acknowledgeWake(test.db, taken)).toBe('renewed')
    const renewed = { due: later(60_000), foreign_event: false, may_start: false, lease_owner: null, next_due: null }
    expect(await wakes()).toMatchObject([renewed])
    await store({ due: later(10), foreign_event: true })
    expect(await wakes()).toMatchObject([{ due: later(10), foreign_event: true }])
  })

  it('keeps the due time and the flags of a renewal when its dispatcher postpones it', async () => {
    await store({ foreign_event: true })
    await postponeWakes(test.db, [{ wake: only(await claim()), due: later(5000) }])
    expect(await wakes()).toMatchObject([{ due: later(5000), lease_owner: null, foreign_event: true }])
    const again = only(await claim(later(5000)))
    await store({ due: later(6000), may_start: true })
    await postponeWakes(test.db, [{ wake: again, due: later(9000) }])
    expect(await wakes()).toMatchObject([{ due: later(6000), may_start: true, foreign_event: true }])
  })

  it('stays unchanged when a dispatcher acknowledges it after another dispatcher has taken over the lease', async () => {
    await store({})
    const slow = only(await claim())
    await store({})
    const { version } = only(await claim(later(1000), { owner: 'd2' }))
    expect(await acknowledgeWake(test.db, slow)).toBe('renewed')
    expect(await wakes()).toMatchObject([{ lease_owner: 'runs 2 d2', version }])
  })
})

describe('the retry budget', () => {
  const take = async (now: Date, { namespace = 'ns', controller = 'task' } = {}) =>
    await test.db
      .transaction()
      .execute(async (trx) => await takeRetryToken(trx, { cluster: 'c', controller, namespace }, now))

  it('is separate for each controller and namespace, so that retries of one do not delay another', async () => {
    for (let count = 0; count < 101; count++) await take(NOW)
    expect(await take(NOW)).toBeGreaterThan(0)
    expect(await take(NOW, { namespace: 'other' })).toBe(0)
    expect(await take(NOW, { controller: 'another' })).toBe(0)
  })

  it('delays a retry by at most 1,000 s, and its row is deleted when the budget is full again', async () => {
    const owed = { cluster: 'c', controller: 'task', namespace: 'ns', tokens: -9_999, updated_at: NOW }
    await test.db.insertInto('retry_turn').values(owed).execute()
    expect([await take(NOW), await take(NOW)]).toEqual([1_000_000, 1_000_000])
    expect(await pruneRetryBuckets(test.db, later(LONGEST_REFILL_MS))).toBe(0)
    expect(await pruneRetryBuckets(test.db, later(LONGEST_REFILL_MS + 1))).toBe(1)
  })
})
