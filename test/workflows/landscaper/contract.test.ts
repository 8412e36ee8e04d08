import { describe, expect, it } from 'vitest'

import { nextError, setCondition } from '../../../workflows/landscaper/contract.ts'

const [EARLY, LATE] = ['2026-01-01T00:00:00Z', '2026-01-01T00:01:00Z']

describe('a condition that is set', () => {
  const ready = { type: 'Ready', status: 'True', reason: 'AllGood', message: 'all good' } as const
  const before = setCondition(undefined, ready, EARLY)

  it('keeps its transition time while its status stays', () => {
    expect(setCondition(before, { ...ready, message: 'still' }, LATE)).toEqual([
      { ...ready, message: 'still', lastTransitionTime: EARLY, lastUpdateTime: LATE },
    ])
  })

  it('moves its transition time with its status', () => {
    expect(setCondition(before, { ...ready, status: 'False' }, LATE)).toEqual([
      { ...ready, status: 'False', lastTransitionTime: LATE, lastUpdateTime: LATE },
    ])
  })

  it('leaves the others unchanged', () => {
    const two = setCondition(before, { ...ready, type: 'Other' }, EARLY)
    expect(setCondition(two, ready, LATE).map(({ type, lastUpdateTime }) => [type, lastUpdateTime])).toEqual([
      ['Ready', LATE],
      ['Other', EARLY],
    ])
  })
})

describe('the last error', () => {
  const report = { operation: 'Apply', reason: 'NoAnswer', message: 'no answer', codes: ['ERR_TIMEOUT'] }
  const before = nextError(undefined, report, EARLY)

  it('starts with both times', () => {
    expect(before).toEqual({ ...report, lastTransitionTime: EARLY, lastUpdateTime: EARLY })
  })

  it('keeps its transition time while the operation stays the same, also if the reason changes', () => {
    const after = nextError(before, { ...report, reason: 'Refused' }, LATE)
    expect(after).toEqual({ ...report, reason: 'Refused', lastTransitionTime: EARLY, lastUpdateTime: LATE })
  })

  it('moves its transition time with the operation', () => {
    expect(nextError(before, { ...report, operation: 'Delete' }, LATE).lastTransitionTime).toBe(LATE)
  })
})
