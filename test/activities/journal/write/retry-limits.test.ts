import { describe, expect, it } from 'vitest'
import { retryDelayMs } from '../../../../activities/journal/write/retry-limits.ts'

describe('the delay of a subject whose passes fail', () => {
  it('is 5 ms after the first failure and doubles up to 1000 s', () => {
    expect([1, 2, 3, 10, 18, 19, 500].map((attempt) => retryDelayMs(attempt))).toEqual([
      5, 10, 20, 2560, 655_360, 1_000_000, 1_000_000,
    ])
  })

  it('uses the limits of the controller', () => {
    const limits = { firstMs: 300, mostMs: 1000, perSecond: 10, burst: 100 }
    expect([1, 2, 3, 4, 5000].map((attempt) => retryDelayMs(attempt, limits))).toEqual([300, 600, 1000, 1000, 1000])
  })
})
