import fc from 'fast-check'
import { describe, expect, it } from 'vitest'

import {
  again,
  done,
  fail,
  interrupts,
  isDone,
  joinOutcomes,
  later,
  type Outcome,
  retryLater,
  stop,
  wishedMs,
} from '../../../../workflows/kit/index.ts'

const outcomes: fc.Arbitrary<Outcome> = fc.record({
  faults: fc.array(fc.record({ code: fc.string(), message: fc.string(), retryable: fc.boolean() }), { maxLength: 3 }),
  againMs: fc.option(fc.nat(), { nil: undefined }),
  laterMs: fc.option(fc.nat(), { nil: undefined }),
  stopped: fc.option(fc.string(), { nil: undefined }),
})

describe('the join of outcomes', () => {
  it('is associative', () => {
    fc.assert(
      fc.property(outcomes, outcomes, outcomes, (a, b, c) => {
        const nestedLeft = joinOutcomes(joinOutcomes(a, b), c)
        expect(joinOutcomes(a, joinOutcomes(b, c))).toEqual(nestedLeft)
        expect(joinOutcomes(a, b, c)).toEqual(nestedLeft)
      }),
    )
  })

  it('has done as its identity on both sides', () => {
    fc.assert(
      fc.property(outcomes, (a) => {
        expect(joinOutcomes(done, a)).toEqual(a)
        expect(joinOutcomes(a, done)).toEqual(a)
      }),
    )
    expect(joinOutcomes()).toEqual(done)
  })

  it('concatenates faults in declared order', () => {
    fc.assert(
      fc.property(fc.array(outcomes), (all) => {
        expect(joinOutcomes(...all).faults).toEqual(all.flatMap(({ faults }) => faults))
      }),
    )
  })

  it('requests the next pass no later than any of its parts', () => {
    fc.assert(
      fc.property(fc.array(outcomes, { minLength: 1 }), (all) => {
        const least = (of: (outcome: Outcome) => number | undefined) =>
          Math.min(...all.map((outcome) => of(outcome) ?? Infinity))
        const joined = joinOutcomes(...all)
        expect(joined.againMs ?? Infinity).toBe(least(({ againMs }) => againMs))
        expect(joined.laterMs ?? Infinity).toBe(least(({ laterMs }) => laterMs))
        expect(wishedMs(joined) ?? Infinity).toBe(least(wishedMs))
      }),
    )
  })

  it('depends on the order of its operands only in the order of faults and the reason of the stop', () => {
    fc.assert(
      fc.property(outcomes, outcomes, (a, b) => {
        const [one, other] = [joinOutcomes(a, b), joinOutcomes(b, a)]
        expect(one.againMs).toEqual(other.againMs)
        expect(one.laterMs).toEqual(other.laterMs)
        expect(one.stopped === undefined).toBe(other.stopped === undefined)
        expect(new Set(one.faults)).toEqual(new Set(other.faults))
        expect(interrupts(one)).toBe(interrupts(other))
      }),
    )
  })

  it('interrupts exactly when one of its parts does, and is done when all are', () => {
    fc.assert(
      fc.property(fc.array(outcomes), (all) => {
        expect(interrupts(joinOutcomes(...all))).toBe(all.some(interrupts))
        expect(isDone(joinOutcomes(...all))).toBe(all.every(isDone))
      }),
    )
  })
})

describe('an outcome', () => {
  it('never requests a pass in the past', () => {
    expect(again(-1)).toEqual(again(0))
    expect(later(-1)).toEqual(later(0))
  })

  it.each([Number.NaN, Infinity, -Infinity])('rejects a pass in %d ms', (ms) => {
    expect(() => again(ms)).toThrow(`again: found ${ms} ms; expected a finite number`)
    expect(() => later(ms)).toThrow(`later: found ${ms} ms; expected a finite number`)
  })

  it('interrupts a sequence exactly when it is neither done nor `later`', () => {
    const all = [done, later(0), again(0), stop('x'), fail('C', 'm'), retryLater('C', 'm')]
    expect(all.map(interrupts)).toEqual([false, false, true, true, true, true])
    expect(all.map(isDone)).toEqual([true, false, false, false, false, false])
  })
})
