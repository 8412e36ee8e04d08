import { describe, expect, it } from 'vitest'

import { createBackoff, delayAfter, retryUntilStopped, waitForAny } from '../../../worker/server/backoff.ts'

const LIMITS = { first: 400, longest: 30_000 }

describe('the delay after a failure', () => {
  it('doubles up to the maximum, reduced by a random part of up to one half', () => {
    expect([0, 1, 2, 6, 7, 20, 5000].map((failures) => delayAfter(failures, LIMITS, 1))).toEqual([
      400, 800, 1600, 25_600, 30_000, 30_000, 30_000,
    ])
    expect(delayAfter(20, LIMITS, 0)).toBe(15_000)
  })

  it('starts again at the first delay after a success', () => {
    const backoff = createBackoff(LIMITS, () => 1)
    expect([backoff.next(), backoff.next()]).toEqual([400, 800])
    backoff.reset()
    expect(backoff.next()).toBe(400)
  })
})

describe('an operation that is retried until it succeeds', () => {
  const backoff = () => createBackoff({ first: 2, longest: 2 }, () => 1)

  it('reports each failure and returns the result', async () => {
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

  it('stops when the signal is aborted, also during a delay', async () => {
    const stopping = new AbortController()
    const limits = { backoff: createBackoff({ first: 60_000, longest: 60_000 }, () => 1), signal: stopping.signal }
    const attempt = (): Promise<string> => Promise.reject(new Error('away'))
    const failed = () => {
      setImmediate(() => stopping.abort())
    }
    expect(await retryUntilStopped(attempt, failed, limits)).toBeUndefined()
  })
})

const timers = () => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length

describe('waiting for promises with a time-out', () => {
  it('ends with the first promise and leaves no timer', async () => {
    const before = timers()
    let nudge: () => void = () => undefined
    const nudged = new Promise<void>((resolve) => (nudge = resolve))
    const resting = waitForAny(60_000, [nudged, new Promise(() => undefined)])
    expect(timers()).toBe(before + 1)
    nudge()
    await resting
    expect(timers()).toBe(before)
  })

  it('ends after the time-out', async () => {
    await waitForAny(1, [new Promise(() => undefined)])
  })

  it('rejects with the error of a promise and leaves no timer', async () => {
    const before = timers()
    await expect(waitForAny(60_000, [Promise.reject(new Error('gone'))])).rejects.toThrow('gone')
    expect(timers()).toBe(before)
  })
})
