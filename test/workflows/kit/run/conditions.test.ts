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
