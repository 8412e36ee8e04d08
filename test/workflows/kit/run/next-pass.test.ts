import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  again,
  done,
  fail,
  joinOutcomes,
  later,
  type Outcome,
  retryLater,
  stop,
} from '../../../../workflows/kit/index.ts'
import { attemptsAfter, CALM_MS, CHANGED, nextPass } from '../../../../workflows/kit/run/next-pass.ts'

const away = retryLater('Away', 'no answer')
const changed = retryLater(CHANGED, 'generation 2')

describe('the next pass after an outcome', () => {
  it.each<[string, Outcome, number | undefined]>([
    ['done: when something changes', done, undefined],
    ['a wish: then', again(5000), 5000],
    ['a wish for later: then', later(5000), 5000],
    ['two wishes: after the first', joinOutcomes(later(300), again(5000)), 300],
    ['a fault that may pass with a wish for later: as with any other', joinOutcomes(away, later(5000)), 5000],
    ['a final fault: when something changes', fail('Wrong', 'no'), undefined],
    ['a final fault with a wish: then', joinOutcomes(fail('Wrong', 'no'), again(5000)), 5000],
    ['a fault that may pass: as the back-off says', away, Number.MAX_SAFE_INTEGER],
    ['a fault that may pass with a wish: then, or as the back-off says', joinOutcomes(away, again(5000)), 5000],
    [
      'a fault that may pass with a wish for now: as the back-off says, a second at most',
      joinOutcomes(away, again(0)),
      1000,
    ],
    ['a final fault with a wish for now: now', joinOutcomes(fail('Wrong', 'no'), again(0)), 0],
    ['a look at an older object: at once', joinOutcomes(changed, again(50)), 0],
    ['a look at an older object beside another fault: as that', joinOutcomes(changed, away), Number.MAX_SAFE_INTEGER],
  ])('is due after %s', (_, outcome, againMs) => {
    expect(nextPass(outcome, 1).againMs).toBe(againMs)
  })

  it('has a back-off only after a retryable fault', () => {
    const outcomes = [done, fail('Wrong', 'no'), changed, away, joinOutcomes(changed, away)]
    expect(outcomes.map((outcome) => nextPass(outcome, 3).attempt)).toEqual([0, 0, 0, 3, 3])
    expect(outcomes.map((outcome) => nextPass(outcome, 3, true).isOutside)).toEqual([
      ...[undefined, undefined, undefined],
      ...[true, true],
    ])
  })

  it('reports the first code and all messages, up to a readable length', () => {
    expect(nextPass(done, 0).fault).toBeUndefined()
    expect(nextPass(joinOutcomes(away, fail('Wrong', 'no')), 1).fault).toEqual({
      reason: 'Away',
      message: 'no answer; no',
    })
    expect(nextPass(fail('Wrong', 'x'.repeat(5000)), 1).fault?.message).toHaveLength(2000)
  })
})

describe('the delay after a retryable fault', () => {
  // As settle takes it (activities/run/record-pass.ts).
  const delay = (outcome: Outcome, attempt: number, backoffMs: number) =>
    attempt === 0 ? 0 : Math.min(nextPass(outcome, attempt).againMs ?? Infinity, backoffMs)
  const waits = fc.nat(10_000_000)

  it('is at most the back-off, and at most the requested delay or a second', () => {
    fc.assert(
      fc.property(waits, waits, fc.integer({ min: 1, max: 50 }), (wishMs, backoffMs, attempt) => {
        const found = delay(joinOutcomes(away, again(wishMs)), attempt, backoffMs)
        expect(found).toBeLessThanOrEqual(backoffMs)
        expect(found).toBeLessThanOrEqual(Math.max(wishMs, CALM_MS))
      }),
    )
  })

  it('is at least the back-off, unless a delay of a second or more is requested', () => {
    fc.assert(
      fc.property(waits, waits, fc.integer({ min: 1, max: 50 }), (wishMs, backoffMs, attempt) => {
        const found = delay(joinOutcomes(again(wishMs), away), attempt, backoffMs)
        expect(found).toBeGreaterThanOrEqual(Math.min(backoffMs, Math.max(wishMs, CALM_MS)))
      }),
    )
  })

  it('does not depend on the order of joins, on final faults or on stops', () => {
    const beside = fc.constantFrom(done, fail('Wrong', 'no'), stop('enough'), changed)
    fc.assert(
      fc.property(waits, beside, (wishMs, other) => {
        const parts = [away, again(wishMs), other]
        const dues = [parts, parts.toReversed()].map((one) => nextPass(joinOutcomes(...one), 1).againMs)
        expect(dues).toEqual([nextPass(joinOutcomes(away, again(wishMs)), 1).againMs, dues[0]])
      }),
    )
  })
})

describe('the count of failed passes in a row', () => {
  const counts = (...outcomes: readonly Outcome[]) => {
    let attempts = 0
    return outcomes.map((outcome) => (attempts = attemptsAfter(outcome, attempts)))
  }

  it('restarts after a pass without a retryable fault, and is unchanged after a conflict', () => {
    expect(counts(away, away, done, away, fail('Wrong', 'no'), away)).toEqual([1, 2, 0, 1, 0, 1])
    expect(counts(changed, changed, away, changed, away)).toEqual([0, 0, 1, 1, 2])
  })
})
