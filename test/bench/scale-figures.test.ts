// The pure parts of the scenarios: throughput by tenths, the comparison of quarters, the plot.

import { describe, expect, it } from 'vitest'

import { plotSvg } from './plot.ts'
import { tenthsOf } from './scale-throughput.ts'
import { flatnessClaims, type Sample } from './soak-sampler.ts'

describe('throughput by tenths', () => {
  it('is the same in each when the ends come evenly, whatever the first took', () => {
    const ends = Array.from({ length: 101 }, (_, index) => 5000 + index * 10)
    for (const perSecond of tenthsOf(ends)) expect(perSecond).toBeCloseTo(100)
  })

  it('shows a last tenth at half the speed', () => {
    const ends = Array.from({ length: 101 }, (_, index) => index * 10 + Math.max(0, index - 90) * 10)
    const tenths = tenthsOf(ends.toReversed())
    expect(tenths.at(-1)).toBeCloseTo((tenths[0] ?? NaN) / 2)
  })
})

describe('samples of a soak', () => {
  const samples = (memory: (index: number) => number): readonly Sample[] =>
    Array.from({ length: 40 }, (_, index) => ({
      'worker, live MiB': memory(index),
      // In some samples only; and what the kernel sees may grow.
      ...(index % 3 === 0 && { 'bridge, live MiB': 40 }),
      'worker, MiB': 300 + index * 20,
      'bridge, MiB': 100 + index * 20,
      'worker, open files': 30,
      'bridge, open files': 30,
      'oldest due wake, s': 0,
      'event not journaled, s': 0,
    }))
  const broken = (found: readonly Sample[]) => flatnessClaims(found).filter(({ isKept }) => !isKept)

  it('are flat after a first quarter that grows, and with single peaks', () => {
    expect(broken(samples((index) => (index < 10 ? 100 + index * 20 : index === 35 ? 900 : 300)))).toEqual([])
  })

  it('are not flat when memory grows to the end', () => {
    expect(broken(samples((index) => 200 + index * 10)).map(({ sentence }) => sentence)).toEqual([
      expect.stringContaining('worker, live MiB') as string,
    ])
  })

  it('are not flat when something was not sampled', () => {
    expect(broken(samples(() => NaN))).toHaveLength(1)
  })
})

describe('a plot', () => {
  it('has its points between the axes: the largest on the right, the highest on top, 0 at the bottom', () => {
    const points = [
      { x: 1, y: 0 },
      { x: 10, y: 5 },
      { x: 100, y: 10 },
    ]
    expect(plotSvg([{ title: 'a < b', points }], 'n')).toContain('points="56,216 200,126 344,36"')
    expect(plotSvg([{ title: 'a < b', points }], 'n')).toContain('a &lt; b')
  })

  it('refuses an x that has no logarithm', () => {
    expect(() => plotSvg([{ title: 't', points: [{ x: 0, y: 1 }] }], 'n')).toThrow('above 0')
  })
})
