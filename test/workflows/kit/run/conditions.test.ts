import { describe, expect, it } from 'vitest'

import { setCondition } from '../../../../workflows/kit/index.ts'

const [EARLY, LATE] = ['2026-01-01T00:00:00Z', '2026-01-01T00:01:00Z']

describe('a condition that is set', () => {
  const ready = { type: 'Ready', status: 'True', reason: 'AllGood', message: 'all good' } as const
  const before = setCondition(undefined, ready, EARLY)

  it('keeps its transition time while its status is equal', () => {
    expect(setCondition(before, { ...ready, message: 'still' }, LATE)).toEqual([
      { ...ready, message: 'still', lastTransitionTime: EARLY },
    ])
  })

  it('gets a new transition time with a new status', () => {
    expect(setCondition(before, { ...ready, status: 'False' }, LATE)).toEqual([
      { ...ready, status: 'False', lastTransitionTime: LATE },
    ])
  })

  it('returns the same list when nothing changes, so that the pass writes nothing', () => {
    expect(setCondition(before, ready, LATE)).toBe(before)
    const seen = setCondition(before, { ...ready, observedGeneration: 2 }, LATE)
    expect(seen).toEqual([{ ...ready, observedGeneration: 2, lastTransitionTime: EARLY }])
    expect(setCondition(seen, { ...ready, observedGeneration: 2 }, LATE)).toBe(seen)
    expect(setCondition(seen, ready, LATE)).toBe(seen)
    expect(setCondition(seen, { ...ready, observedGeneration: 3 }, LATE)).not.toBe(seen)
    expect(setCondition([], ready, LATE)).toHaveLength(1)
  })

  it('keeps the other conditions in place', () => {
    const two = setCondition(before, { ...ready, type: 'Other' }, EARLY)
    expect(
      setCondition(two, { ...ready, status: 'False' }, LATE).map(({ type, lastTransitionTime }) => [
        type,
        lastTransitionTime,
      ]),
    ).toEqual([
      ['Ready', LATE],
      ['Other', EARLY],
    ])
  })
})
