import { describe, expect, it } from 'vitest'

import { createExpiringCache } from '../../../worker/api/expiring-cache.ts'
import { createRateLimiter, RateLimited } from '../../../worker/api/rate-limiter.ts'
import { rateLimitKey } from '../../../worker/api/users.ts'

describe('the rate limiter', () => {
  it('limits running and queued requests per key, and rejects more', async () => {
    const turns = createRateLimiter(
      { concurrent: 1, queued: 1, perSecond: 100, burst: 100, unit: 'questions' },
      () => 0,
    )
    let release: () => void = () => undefined
    const order: string[] = []
    const first = turns('a', async () => {
      await new Promise<void>((done) => (release = done))
      order.push('first')
    })
    const second = turns('a', async () => void order.push(await Promise.resolve('second')))
    await expect(turns('a', async () => await Promise.resolve())).rejects.toThrow(RateLimited)
    expect(await turns('b', async () => await Promise.resolve('of another'))).toBe('of another')
    release()
    await Promise.all([first, second])
    expect(order).toEqual(['first', 'second'])
    expect(await turns('a', async () => await Promise.resolve('again'))).toBe('again')
  })

  it('limits the rate, and refills the bucket over time', async () => {
    let now = 0
    const turns = createRateLimiter(
      { concurrent: 9, queued: 9, perSecond: 1, burst: 2, unit: 'queries of one user' },
      () => now,
    )
    const ask = async () => await turns('a', async () => await Promise.resolve('yes'))
    await ask()
    await ask()
    await expect(ask()).rejects.toThrow('too many queries of one user; expected at most 1 per second')
    now = 1000
    expect(await ask()).toBe('yes')
  })

  it('uses one key for all ServiceAccounts of a namespace', () => {
    const user = { uid: undefined, groups: undefined, extra: undefined }
    expect(rateLimitKey({ ...user, username: 'system:serviceaccount:team-a:one' })).toBe(
      rateLimitKey({ ...user, username: 'system:serviceaccount:team-a:two' }),
    )
    expect(rateLimitKey({ ...user, username: 'alice' })).not.toBe(rateLimitKey({ ...user, username: 'bob' }))
  })
})

describe('the expiring cache', () => {
  it('loads a value once, loads again after expiry and after a failure, and is bounded', async () => {
    let now = 0
    let asked = 0
    const cache = createExpiringCache<number>(10, 2, () => now)
    const ask = async (key = 'a') => await cache.get(key, async () => await Promise.resolve(++asked))
    expect(await Promise.all([ask(), ask()])).toEqual([1, 1])
    now = 10
    expect(await ask()).toBe(2)
    await expect(cache.get('b', async () => await Promise.reject(new Error('away')))).rejects.toThrow('away')
    expect(await ask('b')).toBe(3)
    expect(await ask('c')).toBe(4)
    expect(await ask('a')).toBe(5)
  })
})
