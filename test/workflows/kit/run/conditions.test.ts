import { describe, expect, it } from 'vitest'

import { setCondition } from '../../../../workflows/kit/index.ts'

const [EARLY, LATE] = ['2026-01-01T00:00:00Z', '2026-01-01T00:01:00Z']

describe('a condition that is set', () => {
  const ready = { type: 'Ready', status: 'True', reason: 'AllGood', message: 'all good' } as const
  const before = setCondition(undefined, ready, EARLY)

  it('keeps its transition time while its status stays', () => {
    expect(setCondition(before, { ...ready, message: 'still' }, LATE)).toEqual([
      { ...ready, message: 'still', lastTransitionTime: EARLY },
    ])
  })

  it('moves its transition time with its status', () => {
    expect(setCondition(before, { ...ready, status: 'False' }, LATE)).toEqual([
      { ...ready, status: 'False', lastTransitionTime: LATE },
    ])
  })

  it('changes nothing when it says nothing new, so that nothing is written', () => {
    expect(setCondition(before, ready, LATE)).toBe(before)
    const seen = setCondition(before, { ...ready, observedGeneration: 2 }, LATE)
    expect(seen).toEqual([{ ...ready, observedGeneration: 2, lastTransitionTime: EARLY }])
    expect(setCondition(seen, { ...ready, observedGeneration: 2 }, LATE)).toBe(seen)
    expect(setCondition(seen, ready, LATE)).toBe(seen)
    expect(setCondition(seen, { ...ready, observedGeneration: 3 }, LATE)).not.toBe(seen)
    expect(setCondition([], ready, LATE)).toHaveLength(1)
  })

  it('leaves the others where they are', () => {
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
