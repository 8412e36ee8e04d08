import { describe, expect, it } from 'vitest'

import { isLaneServed, laneOf, path } from '../../../../workflows/kit/index.ts'

const LANES = { at: path('spec.type'), all: ['a', 'b'], flag: 'types' }

describe('the lane of a subject', () => {
  it('is what stands in its projection, if that is a lane', () => {
    expect(laneOf(LANES, { spec: { type: 'b' } })).toBe('b')
    for (const spec of [{ type: 'c' }, { type: 7 }, {}, undefined]) expect(laneOf(LANES, { spec })).toBeUndefined()
    expect(laneOf(undefined, { spec: { type: 'b' } })).toBeUndefined()
  })

  it('is served by a run that names it, or names none; what is in no lane is served by all', () => {
    expect(isLaneServed(['a'], 'a')).toBe(true)
    expect(isLaneServed(['a'], 'b')).toBe(false)
    expect(isLaneServed([], 'b')).toBe(false)
    for (const all of [null, undefined]) expect(isLaneServed(all, 'b')).toBe(true)
    expect(isLaneServed(['a'], undefined)).toBe(true)
  })
})
