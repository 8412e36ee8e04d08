import fc from 'fast-check'
import { describe, expect, it } from 'vitest'

import { dueStart } from '../../../examples/cronjob/due-start.ts'
import { readSchedule, type Schedule } from '../../../examples/cronjob/schedule.ts'

describe('a schedule', () => {
  it.each([
    ['*/5 * * * *', 'UTC', '2026-01-01T00:05:00Z', '2026-01-01T00:10:00Z'],
    ['5/10 * * * *', 'UTC', '2026-01-01T00:06:00Z', '2026-01-01T00:15:00Z'],
    ['0 3 * * *', 'Europe/Berlin', '2026-03-28T12:00:00Z', '2026-03-29T01:00:00Z'],
    ['0 0 13 * FRI', 'UTC', '2026-01-01T00:00:00Z', '2026-01-02T00:00:00Z'],
    ['@daily', 'UTC', '2026-01-01T00:00:00Z', '2026-01-02T00:00:00Z'],
  ])('%s in %s comes after %s at %s', (schedule, timeZone, moment, next) => {
    expect(scheduleOf(schedule, timeZone).after(new Date(moment))).toEqual(new Date(next))
  })

  it('may have no time at all', () => {
    const never = scheduleOf('0 0 30 2 *')
    const now = new Date('2026-01-01T00:00:00Z')
    expect([never.after(now), never.notAfter(now)]).toEqual([undefined, undefined])
  })

  it.each(['', 'x', '61 * * * *', '* * * * * *', '2026-01-01T10:00:00', '@every 5m', '@reboot'])(
    'is refused when it is %j',
    (schedule) => {
      expect(readSchedule({ schedule })).toMatchObject({ code: 'InvalidSchedule' })
    },
  )

  it.each(['', 'Mars/Olympus', 'Local'])('is refused in the time zone %j', (timeZone) => {
    expect(readSchedule({ schedule: '* * * * *', timeZone })).toMatchObject({ code: 'UnknownTimeZone' })
  })

  it('says the same forwards and backwards', () => {
    const schedules = ['* * * * *', '*/7 3-5 * * *', '0 0 1 * *', '30 2 * * SUN'].map((text) => scheduleOf(text))
    fc.assert(
      fc.property(fc.constantFrom(...schedules), moments, (schedule, moment) => {
        const last = schedule.notAfter(moment)
        expect(last && last <= moment).toBe(true)
        const next = schedule.after(moment)
        expect(next && next > moment).toBe(true)
        expect(schedule.after(last ?? moment)).toEqual(next)
        expect(schedule.notAfter(next ?? moment)).toEqual(next)
      }),
    )
  })
})

describe('a start', () => {
  const hourly = scheduleOf('0 * * * *')

  it('is due from its very moment', () => {
    const question = { schedule: hourly, since: at('10:00'), deadlineSeconds: undefined }
    expect(dueStart({ ...question, now: new Date('2026-03-01T10:59:59.999Z') })).toEqual({ verdict: 'none' })
    expect(dueStart({ ...question, now: at('11:00') })).toEqual({ verdict: 'due', at: at('11:00'), manyMissed: false })
  })

  it('is never made twice, nor made up, whenever passes happen', () => {
    const passes = fc.array(momentsIn(60), { minLength: 1, maxLength: 20 })
    fc.assert(
      fc.property(passes, (times) => {
        let since = new Date(BEGIN)
        for (const now of times.toSorted((left, right) => left.getTime() - right.getTime())) {
          const start = dueStart({ schedule: hourly, since, now, deadlineSeconds: undefined })
          if (start.verdict !== 'due') continue
          expect(start.at > since && start.at <= now && start.at.getUTCMinutes() === 0).toBe(true)
          since = start.at
        }
      }),
      { numRuns: 30 },
    )
  })
})

const BEGIN = Date.parse('2026-01-01T00:00:00Z')
const momentsIn = (days: number) => fc.integer({ min: 0, max: days * 86_400_000 }).map((ms) => new Date(BEGIN + ms))
const moments = momentsIn(366)

function scheduleOf(schedule: string, timeZone = 'UTC'): Schedule {
  const read = readSchedule({ schedule, timeZone })
  if ('code' in read) throw new Error(read.message)
  return read
}

function at(time: string): Date {
  return new Date(`2026-03-01T${time}:00Z`)
}
