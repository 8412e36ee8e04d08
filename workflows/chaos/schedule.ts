// Computes the times of a schedule like robfig/cron v3: in UTC unless a time zone precedes the fields. Pure: each
// method gets its start time. Milliseconds since the epoch. Source: spec/chaos.md 2.12; robfig/cron v3,
// SpecSchedule.Next and ConstantDelaySchedule.Next.

import { type CronFields, parseCronSpec } from './cron-spec.ts'

export interface Schedule {
  /**
   * The first time after this moment; undefined when no such time exists, for example for 30 February.
   *
   * @param sinceMs the start of an interval (`@every`): the previous time of the schedule, or the beginning.
   */
  readonly after: (ms: number, sinceMs?: number) => number | undefined
  /** The last time that is later than the first of these moments, and not later than the second. An interval is counted from the first. */
  readonly lastIn: (sinceMs: number, untilMs: number) => number | undefined
}

export const EXPECTED_SCHEDULE =
  'five fields as in crontab, such as */15 * * * *, a descriptor such as @hourly, or @every 2h'

// Enough for a list of all minutes of an hour.
const MAX_TEXT_LENGTH = 1000
const SECOND_MS = 1000
/** The original gives up after five years, too. */
const MAX_YEARS = 5
const MAX_DAYS = (MAX_YEARS + 1) * 366

/** Undefined for an invalid schedule. */
export function readSchedule(text: string): Schedule | undefined {
  const spec = text.length > MAX_TEXT_LENGTH ? undefined : parseCronSpec(text)
  if (spec === undefined) return undefined
  if ('everyMs' in spec) return interval(spec.everyMs)
  const zone = zoneDays(spec.zone)
  return zone && timesIn(spec.fields, zone)
}

function interval(everyMs: number): Schedule {
  const begin = (ms: number) => Math.floor(ms / SECOND_MS) * SECOND_MS
  return {
    after: (ms, sinceMs = ms) => {
      const from = begin(sinceMs)
      return from + Math.max(1, Math.floor((ms - from) / everyMs) + 1) * everyMs
    },
    lastIn(sinceMs, untilMs) {
      const from = begin(sinceMs)
      const count = Math.floor((untilMs - from) / everyMs)
      return count < 1 ? undefined : from + count * everyMs
    },
  }
}

function timesIn(fields: CronFields, zone: ZoneDays): Schedule {
  const minutes = [...fields.hours]
    .flatMap((hour) => [...fields.minutes].map((minute) => hour * 60 + minute))
    .sort((one, other) => one - other)
  const momentsOf = (day: number) => (isDayOf(fields, day) ? zone.momentsOf(day, minutes) : [])
  return {
    after(ms) {
      const first = zone.dayAt(ms)
      const lastYear = calendarDay(first).year + MAX_YEARS
      for (let day = first; calendarDay(day).year <= lastYear; day++) {
        const found = momentsOf(day).find((moment) => moment > ms)
        if (found !== undefined) return found
      }
      return undefined
    },
    lastIn(sinceMs, untilMs) {
      const last = zone.dayAt(untilMs)
      for (let day = last; day >= zone.dayAt(sinceMs) && day > last - MAX_DAYS; day--) {
        const found = momentsOf(day).findLast((moment) => moment <= untilMs)
        if (found !== undefined) return found > sinceMs ? found : undefined
      }
      return undefined
    },
  }
}

function isDayOf({ days, months, weekdays, needsBothDays }: CronFields, day: number): boolean {
  const { month, day: ofMonth, weekday } = calendarDay(day)
  if (!months.has(month)) return false
  const [isDay, isWeekday] = [days.has(ofMonth), weekdays.has(weekday)]
  return needsBothDays ? isDay && isWeekday : isDay || isWeekday
}

/* eslint-disable no-restricted-globals -- Date only converts times that the caller passes; no clock is read. */

export interface CalendarDay {
  readonly month: number
  readonly day: number
  readonly weekday: number
  readonly year: number
}

export interface ZoneDays {
  /** The day that the clocks of the zone show at this moment. */
  readonly dayAt: (ms: number) => number
  /** The moments of this day at which the clocks show these times, in order. @param minutes since midnight. */
  readonly momentsOf: (day: number, minutes: readonly number[]) => readonly number[]
}

const [MINUTE_MS, HOUR_MS, DAY_MS] = [60_000, 3_600_000, 86_400_000]
// No zone is further from UTC, and no zone changes its offset twice within this time.
const FURTHEST_MS = 15 * HOUR_MS
const FIRST_WEEKDAY = 4

/** Undefined for a zone that this machine does not know. */
export function zoneDays(name: string): ZoneDays | undefined {
  const offsetAt = offsetsOf(name)
  if (offsetAt === undefined) return undefined
  return {
    dayAt: (ms) => Math.floor((ms + offsetAt(ms)) / DAY_MS),
    momentsOf(day, minutes) {
      const [before, behind] = [offsetAt(day * DAY_MS - FURTHEST_MS), offsetAt((day + 1) * DAY_MS + FURTHEST_MS)]
      const locals = minutes.map((minute) => day * DAY_MS + minute * MINUTE_MS)
      if (before === behind) return locals.map((local) => local - before)
      const moments = locals.flatMap((local) => [local - before, local - behind])
      // Z1
      const shown = moments.filter((ms, index) => ms + offsetAt(ms) === locals[Math.floor(index / 2)])
      return shown.sort((one, other) => one - other)
    },
  }
}

export function calendarDay(day: number): CalendarDay {
  const date = new Date(day * DAY_MS)
  return {
    month: date.getUTCMonth() + 1,
    day: date.getUTCDate(),
    year: date.getUTCFullYear(),
    weekday: (((day + FIRST_WEEKDAY) % 7) + 7) % 7,
  }
}

/** The offset of the zone's clocks from UTC. */
function offsetsOf(name: string): ((ms: number) => number) | undefined {
  if (name === 'UTC') return () => 0
  // Intl also accepts offsets such as +01:00, which Go rejects.
  if (!/^[A-Za-z]/.test(name)) return undefined
  try {
    const format = new Intl.DateTimeFormat('en-US', { timeZone: name, timeZoneName: 'longOffset' })
    return (ms) => offsetIn(format.formatToParts(ms).find(({ type }) => type === 'timeZoneName')?.value ?? '')
  } catch {
    return undefined
  }
}

/** Such as `GMT+05:30`, but not `GMT` alone. */
function offsetIn(text: string): number {
  const [, sign, hours, minutes] = /^GMT([+-])(\d{2}):(\d{2})/.exec(text) ?? []
  const ms = Number(hours ?? 0) * HOUR_MS + Number(minutes ?? 0) * MINUTE_MS
  return sign === '-' ? -ms : ms
}
