import { describe, expect, it } from 'vitest'
import { retryDelayMs } from '../../../../activities/journal/write/backoff.ts'

describe('the delay of a subject whose passes fail', () => {
  it('is 5 ms after the first failure and doubles up to 1000 s', () => {
    expect([1, 2, 3, 10, 18, 19, 500].map(retryDelayMs)).toEqual([5, 10, 20, 2560, 655_360, 1_000_000, 1_000_000])
  })
})
