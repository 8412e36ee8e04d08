import { describe, expect, it } from 'vitest'

import { createBackoff, delayAfter, pause, retryUntilStopped } from '../../../worker/server/backoff.ts'

const LIMITS = { first: 400, longest: 30_000 }

describe('the delay after a failure', () => {
  it('doubles up to the longest', () => {
    expect([0, 1, 2, 6, 7, 20, 5000].map((failures) => delayAfter(failures, LIMITS, 1))).toEqual([
      400, 800, 1600, 25_600, 30_000, 30_000, 30_000,
    ])
  })

  it('is up to one half left to chance', () => {
    expect(delayAfter(20, LIMITS, 0)).toBe(15_000)
  })

  it('is the first one again when something has worked', () => {
    const backoff = createBackoff(LIMITS, () => 1)
    expect([backoff.next(), backoff.next()]).toEqual([400, 800])
    backoff.reset()
    expect(backoff.next()).toBe(400)
  })
})

describe('what is tried until it works', () => {
  const backoff = () => createBackoff({ first: 2, longest: 2 }, () => 1)

  it('is told of each failure, and returns what came at last', async () => {
    const failures: unknown[] = []
    const attempt = () =>
      failures.length < 2 ? Promise.reject(new Error(`not yet ${failures.length}`)) : Promise.resolve('there')
    const failed = (error: unknown, delayMs: number) => void failures.push([String(error), delayMs])
    expect(await retryUntilStopped(attempt, failed, { backoff: backoff(), signal: new AbortController().signal })).toBe(
      'there',
    )
    expect(failures).toEqual([
      ['Error: not yet 0', 2],
      ['Error: not yet 1', 2],
    ])
  })

  it('is given up when the signal comes, also in the middle of a wait', async () => {
    const stopping = new AbortController()
    const limits = { backoff: createBackoff({ first: 60_000, longest: 60_000 }, () => 1), signal: stopping.signal }
    const attempt = (): Promise<string> => Promise.reject(new Error('away'))
    const failed = () => {
      setImmediate(() => stopping.abort())
    }
    expect(await retryUntilStopped(attempt, failed, limits)).toBeUndefined()
  })
})

describe('a pause', () => {
  it('ends with the signal, without an error', async () => {
    await pause(60_000, AbortSignal.abort())
  })
})
