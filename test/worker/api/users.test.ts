import { describe, expect, it } from 'vitest'
import type { KubeClient } from '../../../activities/kube/client.ts'
import { RateLimited } from '../../../worker/api/rate-limiter.ts'
import { createUsers, type Users } from '../../../worker/api/users.ts'

describe('the user of a token', () => {
  it('is reviewed once within the cache time, for valid and for invalid tokens', async () => {
    const { users, reviewed, wait } = stage()
    for (const token of ['of alice', 'of alice', 'nonsense', 'nonsense']) await users(token)
    expect(reviewed).toEqual(['of alice', 'nonsense'])
    expect(await users('of alice')).toMatchObject({ username: 'alice' })
    expect(await users('nonsense')).toBeUndefined()
    wait(10_000)
    await Promise.all([users('of alice'), users('of alice'), users('nonsense'), users('nonsense')])
    expect(reviewed).toEqual(['of alice', 'nonsense', 'of alice', 'nonsense'])
  })

  it('is still found for known tokens during a flood of invalid tokens, which share one rate limit', async () => {
    const { users, reviewed, wait } = stage()
    await users('of alice')
    const flood = Array.from({ length: 1000 }, (_, index) => users(`nonsense ${index}`))
    const told = await Promise.allSettled(flood)
    // The burst.
    expect(reviewed).toHaveLength(30)
    const away = told.flatMap((one) => (one.status === 'rejected' ? [one.reason as Error] : []))
    expect(away).toHaveLength(1000 - 29)
    expect(away[0]).toBeInstanceOf(RateLimited)
    expect(away[0]?.message).toBe('too many new tokens; expected at most 10 per second and 16 at the same time')
    // The cached review has expired, but the token is known.
    wait(10_000)
    await Promise.allSettled(Array.from({ length: 1000 }, (_, index) => users(`more of it ${index}`)))
    expect(await users('of alice')).toMatchObject({ username: 'alice' })
    await expect(users('of bob')).rejects.toThrow(RateLimited)
    wait(1000)
    expect(await users('of bob')).toMatchObject({ username: 'bob' })
  })

  it('loses the own rate limit when the API server refuses the token', async () => {
    const { users, refuse, wait } = stage()
    await users('of alice')
    refuse('of alice')
    wait(10_000)
    expect(await users('of alice')).toBeUndefined()
    wait(10_000)
    await Promise.allSettled(Array.from({ length: 30 }, (_, index) => users(`nonsense ${index}`)))
    await expect(users('of alice')).rejects.toThrow(RateLimited)
  })

  it('is reviewed again directly after a failed review', async () => {
    const { users, fail } = stage()
    fail(new Error('away'))
    await expect(users('of alice')).rejects.toThrow('away')
    fail(undefined)
    expect(await users('of alice')).toMatchObject({ username: 'alice' })
  })
})

/** An API server that accepts the tokens `of NAME`. */
function stage() {
  let now = 0
  let failure: Error | undefined
  const reviewed: string[] = []
  const refused = new Set<string>()
  const kube: Pick<KubeClient, 'request'> = {
    request: async <Answer>(_verb: string, _path: string, { body }: { readonly body?: unknown } = {}) => {
      const { token } = (body as { readonly spec: { readonly token: string } }).spec
      reviewed.push(token)
      if (failure !== undefined) throw failure
      const [, username] = /^of (\w+)$/.exec(token) ?? []
      const authenticated = username !== undefined && !refused.has(token)
      const status = authenticated ? { authenticated, user: { username } } : {}
      return await Promise.resolve({ status } as Answer)
    },
  }
  const users: Users = createUsers(kube, { audiences: [], cachedMs: 10_000, reviewsPerSecond: 10, now: () => now })
  return {
    users,
    reviewed,
    wait: (ms: number) => void (now += ms),
    refuse: (token: string) => void refused.add(token),
    fail: (error: Error | undefined) => void (failure = error),
  }
}
