// Tests the statistics of the bench.

import { describe, expect, it } from 'vitest'

import { median, perSecondByTenth, quantile } from './statistics.ts'

describe('Statistics', () => {
  it('compute median and quantiles', () => {
    expect(median([9, 1, 5])).toBe(5)
    expect(median([1, 9, 5, 7])).toBe(6)
    expect(quantile([4, 1, 3, 2], 0.5)).toBe(2)
    expect(quantile([4, 1, 3, 2], 0.99)).toBe(4)
    expect(() => median([])).toThrow('no values')
  })
})

describe('The rate of each tenth', () => {
  it('is the same for a constant rate, and does not include the latency of the first end', () => {
    const ends = Array.from({ length: 101 }, (_, index) => 5000 + index * 10)
    for (const perSecond of perSecondByTenth(ends)) expect(perSecond).toBeCloseTo(100)
  })

  it('shows a slower last tenth', () => {
    const ends = Array.from({ length: 101 }, (_, index) => index * 10 + Math.max(0, index - 90) * 10)
    const tenths = perSecondByTenth(ends.toReversed())
    expect(tenths.at(-1)).toBeCloseTo((tenths[0] ?? NaN) / 2)
  })
})
