// The latest time by clocks that differ and are set.

import { describe, expect, it } from 'vitest'

import { type ClockReading, type LatestTime, latestTime } from '../../../../../workflows/kit/run/level/latest-time.ts'

const HOUR = 3_600_000
const reading = (set: Partial<ClockReading> = {}): ClockReading => ({
  machineMs: 10 * HOUR,
  journalMs: 10 * HOUR,
  steadyMs: 1000,
  steadyOf: 'one',
  ...set,
})
const before: LatestTime = { atMs: 10 * HOUR, steady: { steadyMs: 1000, steadyOf: 'one' } }

describe('the latest time of a pass', () => {
  it.each([
    { clock: 'Temporal', runMs: 11 * HOUR, set: {} },
    { clock: 'the machine', runMs: 10 * HOUR, set: { machineMs: 11 * HOUR } },
    { clock: 'the database', runMs: 10 * HOUR, set: { journalMs: 11 * HOUR } },
  ])('L1: equals $clock when that clock is ahead', ({ runMs, set }) => {
    expect(latestTime(runMs, reading(set), undefined).atMs).toBe(11 * HOUR)
  })

  it('L2: follows the monotonic clock when all other clocks are set back', () => {
    const set = { machineMs: 8 * HOUR, journalMs: 8 * HOUR, steadyMs: 1000 + HOUR }
    expect(latestTime(8 * HOUR, reading(set), before)).toEqual({
      atMs: 11 * HOUR,
      steady: { steadyMs: 1000 + HOUR, steadyOf: 'one' },
    })
  })

  it('L2: does not decrease on another machine, whose monotonic clock is not comparable', () => {
    const set = { machineMs: 8 * HOUR, journalMs: 8 * HOUR, steadyMs: 99 * HOUR, steadyOf: 'other' }
    expect(latestTime(8 * HOUR, reading(set), before).atMs).toBe(10 * HOUR)
  })

  it('L2: does not decrease without a reading, and follows the run there', () => {
    expect(latestTime(8 * HOUR, undefined, before)).toEqual({ atMs: 10 * HOUR })
    expect(latestTime(12 * HOUR, undefined, before)).toEqual({ atMs: 12 * HOUR })
  })
})
