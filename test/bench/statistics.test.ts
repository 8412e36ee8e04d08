// Tests the statistics of the bench.

import { describe, expect, it } from 'vitest'

import { median, quantile } from './statistics.ts'

describe('Statistics', () => {
  it('compute median and quantiles', () => {
    expect(median([9, 1, 5])).toBe(5)
    expect(median([1, 9, 5, 7])).toBe(6)
    expect(quantile([4, 1, 3, 2], 0.5)).toBe(2)
    expect(quantile([4, 1, 3, 2], 0.99)).toBe(4)
    expect(() => median([])).toThrow('no values')
  })
})
