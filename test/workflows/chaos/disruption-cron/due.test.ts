import fc from 'fast-check'
import { describe, expect, it } from 'vitest'

import { cronDecision, type CronState } from '../../../../workflows/chaos/disruption-cron/due.ts'
import { readSchedule } from '../../../../workflows/chaos/schedule.ts'

const schedule = readSchedule('*/15 * * * *') ?? expect.fail('no schedule')
const at = (time: string) => Date.parse(`2026-01-01T${time}Z`)
const MINUTE_MS = 60_000

const state = (more: Partial<CronState> = {}): CronState => ({
  schedule,
  createdMs: at('00:01:00'),
  editedMs: undefined,
  lastMs: undefined,
  skippedMs: undefined,
  children: [],
  nowMs: at('00:16:00'),
  toleranceMs: 5 * MINUTE_MS,
  isPaused: false,
  isTargetThere: true,
  ...more,
})

describe('a cron', () => {
  it('counts an interval from the edit of its schedule, then from each scheduled time', () => {
    const every = { schedule: readSchedule('@every 2h') ?? expect.fail('no schedule'), editedMs: at('00:10:00') }
    expect(cronDecision(state(every))).toMatchObject({ run: 'not due', nextMs: at('02:10:00') })
    const nowMs = at('02:10:01')
    expect(cronDecision(state({ ...every, nowMs }))).toMatchObject({ run: 'now', forMs: at('02:10:00') })
    const made = state({ ...every, nowMs, lastMs: at('02:10:00') })
    expect(cronDecision(made)).toMatchObject({ run: 'not due', nextMs: at('04:10:00') })
  })

  it('never creates two Disruptions for one time, one for the future, or one next to a child', () => {
    const minute = fc.integer({ min: 0, max: 600 }).map((count) => at('00:00:00') + count * MINUTE_MS)
    const states = fc.record({
      lastMs: fc.option(minute, { nil: undefined }),
      skippedMs: fc.option(minute, { nil: undefined }),
      children: fc.array(fc.option(minute, { nil: undefined }), { maxLength: 2 }),
      nowMs: minute,
      toleranceMs: fc.integer({ min: 0, max: 60 }).map((count) => count * MINUTE_MS),
      isPaused: fc.boolean(),
      isTargetThere: fc.boolean(),
    })
    fc.assert(
      fc.property(states, (more) => {
        const decision = cronDecision(state(more))
        if (decision.run !== 'now') return
        expect(decision.forMs).toBeLessThanOrEqual(more.nowMs)
        expect(decision.forMs).toBeGreaterThan(more.lastMs ?? at('00:01:00'))
        expect(decision.forMs).toBeGreaterThan(more.skippedMs ?? 0)
        expect([more.children, more.isPaused, more.isTargetThere]).toEqual([[], false, true])
        expect(cronDecision(state({ ...more, lastMs: decision.lastMs })).run).toBe('not due')
      }),
    )
  })
})
