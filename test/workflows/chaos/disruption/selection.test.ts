import fc from 'fast-check'
import { describe, expect, it } from 'vitest'

import type { Target } from '../../../../workflows/chaos/disruption/observed.ts'
import {
  desiredCount,
  retainTargets,
  matchingTargets,
  shuffled,
  requestedCount,
} from '../../../../workflows/chaos/disruption/selection.ts'

const target = (name: string, is: Partial<Target> = {}): Target => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, uid: `uid-${name}`, resourceVersion: '1' },
  annotations: {},
  isRunning: true,
  waitsForInit: false,
  node: 'n1',
  ip: '10.0.0.1',
  containers: [],
  ...is,
})
const names = (targets: readonly Target[]) => targets.map(({ metadata }) => metadata.name)
const noCurrentTargets = { current: new Set<string>(), ownNodes: new Set<string>() }

describe('the number of targets', () => {
  it.each([
    ['50%', 4, 2],
    ['50%', 3, 2],
    ['30%', 2, 1],
    ['1%', 1000, 10],
    ['100%', 7, 7],
    [3, 2, 2],
    [1, 5, 1],
    ['2', 5, 2],
    [0, 5, 0],
    [-1, 5, 0],
    ['abc', 5, 0],
    ['50%', 0, 0],
  ] as const)('is of %s and %i that match %i', (count, matching, expected) => {
    expect(desiredCount(count, matching)).toBe(expected)
  })

  it('exceeds the matching objects if the count is higher', () => {
    expect(requestedCount(3, 2)).toBe(3)
    expect(requestedCount('50%', 3)).toBe(2)
  })
})

describe('a candidate', () => {
  it('is running or ready, and has the annotations of the filter', () => {
    const found = [target('a'), target('b', { isRunning: false }), target('c', { annotations: { team: 'red' } })]
    expect(names(matchingTargets(found, {}, noCurrentTargets))).toEqual(['a', 'c'])
    expect(names(matchingTargets(found, { filter: { annotations: { team: 'red' } } }, noCurrentTargets))).toEqual(['c'])
    expect(names(matchingTargets(found, { filter: { annotations: { team: 'blue' } } }, noCurrentTargets))).toEqual([])
  })

  it('waits for its disruption with onInit, or is a target already', () => {
    const found = [target('a'), target('b', { isRunning: false, waitsForInit: true }), target('c')]
    expect(names(matchingTargets(found, { onInit: true }, noCurrentTargets))).toEqual(['b'])
    expect(names(matchingTargets(found, { onInit: true }, { ...noCurrentTargets, current: new Set(['c']) }))).toEqual([
      'b',
      'c',
    ])
  })
})

describe('the choice of targets', () => {
  const first = () => 0

  it('keeps matching targets, and returns the number of missing ones (S1)', () => {
    expect(retainTargets(['a', 'b'], ['a', 'b', 'c', 'd'], 2, first)).toEqual({ retained: ['a', 'b'], missing: 0 })
    expect(retainTargets(['a', 'b'], ['a', 'c', 'd'], 2, first)).toEqual({ retained: ['a'], missing: 1 })
    expect(retainTargets(['a', 'b', 'c'], ['a', 'b', 'c'], 1, first).retained).toHaveLength(1)
    expect(retainTargets([], [], 0, first)).toEqual({ retained: [], missing: 0 })
  })

  it('is the same for the same random numbers, in any order of the candidates', () => {
    fc.assert(
      fc.property(
        fc.uniqueArray(fc.string({ minLength: 1, maxLength: 4 }), { maxLength: 12 }),
        fc.array(fc.double({ min: 0, max: 0.999, noNaN: true }), { minLength: 12, maxLength: 12 }),
        (all, throws) => {
          const die = () => {
            const left = [...throws]
            return () => left.shift() ?? 0
          }
          const order = shuffled(all, die())
          expect([...order].sort()).toEqual([...all].sort())
          expect(shuffled([...all].reverse(), die())).toEqual(order)
        },
      ),
    )
  })

  it('is equally likely for each candidate', () => {
    const counts = new Map<string, number>()
    let state = 7
    const die = () => {
      state = (state * 48_271) % 2_147_483_647
      return state / 2_147_483_647
    }
    for (let round = 0; round < 6000; round++) {
      const [drawn = ''] = shuffled(['a', 'b', 'c'], die)
      counts.set(drawn, (counts.get(drawn) ?? 0) + 1)
    }
    // Six standard deviations around 2000.
    for (const name of ['a', 'b', 'c']) expect(Math.abs((counts.get(name) ?? 0) - 2000)).toBeLessThan(220)
  })
})
