import { describe, expect, it } from 'vitest'

import { readSchedule } from '../../../workflows/chaos/schedule.ts'

const at = (text: string) => Date.parse(text)
const iso = (ms: number | undefined) => (ms === undefined ? undefined : new Date(ms).toISOString())

describe('a schedule', () => {
  it.each([
    ['*/15 * * * *', '2026-01-01T00:01:30Z', '2026-01-01T00:15:00.000Z'],
    ['*/15 * * * *', '2026-01-01T00:15:00Z', '2026-01-01T00:30:00.000Z'],
    ['0 9 ? * MON-FRI', '2026-01-02T10:00:00Z', '2026-01-05T09:00:00.000Z'],
    ['3/15 * * * *', '2026-01-01T00:20:00Z', '2026-01-01T00:33:00.000Z'],
    ['0 0 1 jan,jul *', '2026-01-01T00:00:00Z', '2026-07-01T00:00:00.000Z'],
    ['@hourly', '2026-01-01T00:00:00Z', '2026-01-01T01:00:00.000Z'],
    ['@midnight', '2026-01-01T01:00:00Z', '2026-01-02T00:00:00.000Z'],
    ['TZ=Europe/Berlin 0 9 * * *', '2026-01-01T00:00:00Z', '2026-01-01T08:00:00.000Z'],
  ])('%s after %s comes at %s', (text, from, expected) => {
    expect(iso(readSchedule(text)?.after(at(from)))).toBe(expected)
  })

  it.each(
    [
      ['', '* * * *', '* * * * * *', '60 * * * *', '* 24 * * *', '5-3 * * * *', '*/0 * * * *', 'L * * * *'],
      ['* * L * *', '* * 15W * *', '* * * * MON#2', '* * * foo *', '@reboot', '@every 5m', '2026-01-01T00:00:00Z'],
      ['TZ=Nowhere/Land * * * * *', 'every day', '*'.repeat(300)],
    ].flat(),
  )('is not "%s"', (text) => {
    expect(readSchedule(text)).toBeUndefined()
  })

  it('that never comes has no time', () => {
    expect(readSchedule('0 0 30 2 *')?.after(0)).toBeUndefined()
  })

  it('knows the last time of a span, its end included and its beginning not', () => {
    const last = (since: string, until: string) => iso(readSchedule('*/10 * * * *')?.lastIn(at(since), at(until)))
    expect(last('2026-01-01T00:00:00Z', '2026-01-01T00:35:00Z')).toBe('2026-01-01T00:30:00.000Z')
    expect(last('2026-01-01T00:00:00Z', '2026-01-01T00:10:00Z')).toBe('2026-01-01T00:10:00.000Z')
    expect(last('2026-01-01T00:00:00Z', '2026-01-01T00:09:59.999Z')).toBeUndefined()
    expect(last('2026-01-01T00:10:00Z', '2026-01-01T00:19:00Z')).toBeUndefined()
  })
})
