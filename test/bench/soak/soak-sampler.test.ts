// Tests the comparison of the quarters of a soak.

import { describe, expect, it } from 'vitest'

import { flatnessClaims, type Sample } from './soak-sampler.ts'

describe('The claims of a soak', () => {
  const samples = (memory: (index: number) => number): readonly Sample[] =>
    Array.from({ length: 40 }, (_, index) => ({
      'worker, live MiB': memory(index),
      // Only some samples have it. Resident memory may grow.
      ...(index % 3 === 0 && { 'bridge, live MiB': 40 }),
      'worker, MiB': 300 + index * 20,
      'bridge, MiB': 100 + index * 20,
      'worker, open files': 30,
      'bridge, open files': 30,
      'oldest due wake, s': 0,
      'event not journaled, s': 0,
    }))
  const growing = (all: readonly Sample[]) => flatnessClaims(all).filter(({ isTrue }) => !isTrue)

  const withPeak = (index: number) => (index === 35 ? 900 : 300)

  it('hold when only the first quarter grows, and with single peaks', () => {
    expect(growing(samples((index) => (index < 10 ? 100 + index * 20 : withPeak(index))))).toEqual([])
  })

  it('fail when memory grows to the end', () => {
    expect(growing(samples((index) => 200 + index * 10)).map(({ sentence }) => sentence)).toEqual([
      expect.stringContaining('worker, live MiB') as string,
    ])
  })

  it('fail when a value was not sampled', () => {
    expect(growing(samples(() => NaN))).toHaveLength(1)
  })
})
