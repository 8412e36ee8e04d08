// Which moment a cron specification means next. Source: robfig/cron v3.

import { describe, expect, it } from 'vitest'
import { nextTime } from '../../../workflows/landscaper/cron.ts'

const FROM = Date.parse('2026-01-31T10:00:30Z')
const after = (spec: string) => {
  const next = nextTime(spec, FROM)
  return next === undefined ? undefined : new Date(next).toISOString()
}

describe('the next time of a cron specification', () => {
  it.each([
    ['*/15 * * * *', '2026-01-31T10:15:00.000Z'],
    ['3/15 * * * *', '2026-01-31T10:03:00.000Z'],
    ['59/15,7 * * * *', '2026-01-31T10:07:00.000Z'],
    ['0 8 * * mon-fri', '2026-02-02T08:00:00.000Z'],
    ['0 8 * * MON/2', '2026-02-02T08:00:00.000Z'],
    // Both days: whichever comes first.
    ['0 0 13 * fri', '2026-02-06T00:00:00.000Z'],
    // A day field with `*` restricts nothing, also with a step of 1 or in a list.
    ['0 0 */1 * mon', '2026-02-02T00:00:00.000Z'],
    ['0 0 *,15 * mon', '2026-02-02T00:00:00.000Z'],
    ['0 0 13 * ?/1', '2026-02-13T00:00:00.000Z'],
    ['? ? 29 feb ?', '2028-02-29T00:00:00.000Z'],
    ['0 0 31 */2 *', '2026-03-31T00:00:00.000Z'],
    ['CRON_TZ=America/New_York 0 0 * * *', '2026-02-01T05:00:00.000Z'],
    ['TZ=Local 0 0 * * *', '2026-02-01T00:00:00.000Z'],
    // An hour that is left out in spring: at its end. The original leaves out the day.
    ['TZ=Europe/Berlin 30 2 29 3 *', '2026-03-29T01:00:00.000Z'],
    ['@midnight', '2026-02-01T00:00:00.000Z'],
    ['@yearly', '2027-01-01T00:00:00.000Z'],
    ['@every 90s', '2026-01-31T10:02:00.000Z'],
    ['@every 1500ms', '2026-01-31T10:00:31.000Z'],
    ['@every 1ms', '2026-01-31T10:00:31.000Z'],
  ])('%s', (spec, time) => {
    expect(after(spec)).toBe(time)
  })

  it.each(['0 0 30 2 *', 'TZ=Mars/Base 0 0 * * *'])('%s never comes', (spec) => {
    expect(after(spec)).toBeUndefined()
  })
})
