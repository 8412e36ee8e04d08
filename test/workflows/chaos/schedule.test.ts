import { describe, expect, it } from 'vitest'

import { readSchedule } from '../../../workflows/chaos/schedule.ts'

const at = (text: string) => Date.parse(text)
const iso = (ms: number | undefined) => (ms === undefined ? undefined : new Date(ms).toISOString())

describe('a schedule', () => {
  // Expected values: ParseStandard(text).Next(from) of github.com/robfig/cron/v3 v3.0.1.
  it.each([
    ['*/15 * * * *', '2026-01-01T00:01:30Z', '2026-01-01T00:15:00.000Z'],
    ['*/15 * * * *', '2026-01-01T00:15:00Z', '2026-01-01T00:30:00.000Z'],
    ['0 9 ? * MON-FRI', '2026-01-02T10:00:00Z', '2026-01-05T09:00:00.000Z'],
    ['3/15 * * * *', '2026-01-01T00:20:00Z', '2026-01-01T00:33:00.000Z'],
    ['0 0 1 jan,Jul *', '2026-01-01T00:00:00Z', '2026-07-01T00:00:00.000Z'],
    ['0 0 1 * 1', '2026-01-02T00:00:00Z', '2026-01-05T00:00:00.000Z'],
    ['0 0 */2 * 1', '2026-01-01T00:00:00Z', '2026-01-03T00:00:00.000Z'],
    ['0 0 */1 * 1', '2026-01-01T00:00:00Z', '2026-01-05T00:00:00.000Z'],
    ['0 0 29 2 *', '2026-01-01T00:00:00Z', '2028-02-29T00:00:00.000Z'],
    ['0 0 30 2 *', '2026-01-01T00:00:00Z', undefined],
    ['05 +4 * * *', '2026-01-01T00:00:00Z', '2026-01-01T04:05:00.000Z'],
    ['@yearly', '2026-01-01T00:00:00Z', '2027-01-01T00:00:00.000Z'],
    ['@annually', '2026-01-01T00:00:00Z', '2027-01-01T00:00:00.000Z'],
    ['@monthly', '2026-01-01T00:00:00Z', '2026-02-01T00:00:00.000Z'],
    ['@weekly', '2026-01-01T00:00:00Z', '2026-01-04T00:00:00.000Z'],
    ['@daily', '2026-01-01T00:00:00Z', '2026-01-02T00:00:00.000Z'],
    ['@midnight', '2026-01-01T01:00:00Z', '2026-01-02T00:00:00.000Z'],
    ['@hourly', '2026-01-01T00:00:00Z', '2026-01-01T01:00:00.000Z'],
    ['@every 2h', '2026-01-01T00:10:00Z', '2026-01-01T02:10:00.000Z'],
    ['@every 1h30m', '2026-01-01T00:00:00Z', '2026-01-01T01:30:00.000Z'],
    ['@every 1.9s', '2026-01-01T00:00:00.500Z', '2026-01-01T00:00:01.000Z'],
    ['@every 10ms', '2026-01-01T00:00:00Z', '2026-01-01T00:00:01.000Z'],
    ['TZ=Europe/Berlin 0 9 * * *', '2026-01-01T00:00:00Z', '2026-01-01T08:00:00.000Z'],
    ['CRON_TZ=America/New_York 0 9 * * *', '2026-07-01T00:00:00Z', '2026-07-01T13:00:00.000Z'],
    ['TZ=Asia/Kolkata @daily', '2026-01-01T00:00:00Z', '2026-01-01T18:30:00.000Z'],
    ['CRON_TZ=UTC @every 2h', '2026-01-01T00:00:00Z', '2026-01-01T02:00:00.000Z'],
    ['TZ= 0 9 * * *', '2026-01-01T00:00:00Z', '2026-01-01T09:00:00.000Z'],
    // Clocks are set forward, then back.
    ['TZ=Europe/Berlin 30 2 * * *', '2026-03-29T00:00:00Z', '2026-03-30T00:30:00.000Z'],
    ['TZ=Europe/Berlin 30 2 * * *', '2026-10-25T00:00:00Z', '2026-10-25T00:30:00.000Z'],
    ['TZ=Europe/Berlin 30 2 * * *', '2026-10-25T00:30:00Z', '2026-10-25T01:30:00.000Z'],
    ['TZ=Europe/Berlin 30 * * * *', '2026-10-25T00:30:00Z', '2026-10-25T01:30:00.000Z'],
  ])('%s after %s comes at %s', (text, from, expected) => {
    expect(iso(readSchedule(text)?.after(at(from)))).toBe(expected)
  })

  // ParseStandard of the same module rejects these.
  it.each(
    [
      ['', '* * * *', '* * * * * *', '60 * * * *', '* 24 * * *', '* * 0 * *', '* * * 13 *', '* * * * 7', '5-3 * * * *'],
      ['*/0 * * * *', 'L * * * *', '* * L * *', '* * 15W * *', '* * * * MON#2', '* * * foo *', '-1 * * * *'],
      [
        '1-2-3 * * * *',
        '1/2/3 * * * *',
        '@reboot',
        '@every',
        '@every 5',
        '@every  5m',
        '@Hourly',
        ' @hourly',
        '@hourly ',
      ],
      ['TZ=Nowhere/Land * * * * *', 'TZ=+01:00 * * * * *', 'TZ=UTC', '2026-01-01T00:00:00Z', 'every day'],
    ].flat(),
  )('is not "%s"', (text) => {
    expect(readSchedule(text)).toBeUndefined()
  })

  it('with more than 1000 characters is rejected', () => {
    expect(readSchedule(`${'0,'.repeat(500)}0 * * * *`)).toBeUndefined()
  })

  it('finds the last time of a span, which includes its end and excludes its start', () => {
    const last = (since: string, until: string) => iso(readSchedule('*/10 * * * *')?.lastIn(at(since), at(until)))
    expect(last('2026-01-01T00:00:00Z', '2026-01-01T00:35:00Z')).toBe('2026-01-01T00:30:00.000Z')
    expect(last('2026-01-01T00:00:00Z', '2026-01-01T00:10:00Z')).toBe('2026-01-01T00:10:00.000Z')
    expect(last('2026-01-01T00:00:00Z', '2026-01-01T00:09:59.999Z')).toBeUndefined()
    expect(last('2026-01-01T00:10:00Z', '2026-01-01T00:19:00Z')).toBeUndefined()
  })

  it('counts an interval from the previous time', () => {
    const every = readSchedule('@every 2h')
    const since = at('2026-01-01T00:10:00Z')
    expect(iso(every?.after(at('2026-01-01T03:00:00Z'), since))).toBe('2026-01-01T04:10:00.000Z')
    expect(iso(every?.after(at('2026-01-01T04:10:00Z'), since))).toBe('2026-01-01T06:10:00.000Z')
    expect(iso(every?.lastIn(since, at('2026-01-01T06:09:59Z')))).toBe('2026-01-01T04:10:00.000Z')
    expect(every?.lastIn(since, at('2026-01-01T02:09:59Z'))).toBeUndefined()
  })
})
