// The times of a schedule, as robfig/cron v3 counts them: in UTC unless a time zone stands before the fields. Pure: every question says from when.
// Milliseconds since the epoch. Source: spec/chaos.md 2.12; robfig/cron v3, SpecSchedule.Next and ConstantDelaySchedule.Next.

import { type CronFields, parseCronSpec } from './cron-spec.ts'
import { calendarDay, type ZoneDays, zoneDays } from './zone-days.ts'

export interface Schedule {
  /**
   * The first time after this moment; undefined when no such time exists, for example for 30 February.
   *
   * @param sinceMs from when an interval (`@every`) is counted: the time of the schedule before, or the beginning.
   */
  readonly after: (ms: number, sinceMs?: number) => number | undefined
  /** The last time that is later than the first of these moments, and not later than the second. An interval is counted from the first. */
  readonly lastIn: (sinceMs: number, untilMs: number) => number | undefined
}

export const EXPECTED_SCHEDULE =
  'five fields as in crontab, such as */15 * * * *, a descriptor such as @hourly, or @every 2h'

// More than all minutes of an hour need.
const LONGEST = 1000
const SECOND_MS = 1000
/** As the original, which gives up then. */
const MOST_YEARS = 5
const MOST_DAYS = (MOST_YEARS + 1) * 366

/** Undefined for what is no schedule. */
export function readSchedule(text: string): Schedule | undefined {
  const spec = text.length > LONGEST ? undefined : parseCronSpec(text)
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
      const lastYear = calendarDay(first).year + MOST_YEARS
      for (let day = first; calendarDay(day).year <= lastYear; day++) {
        const found = momentsOf(day).find((moment) => moment > ms)
        if (found !== undefined) return found
      }
      return undefined
    },
    lastIn(sinceMs, untilMs) {
      const last = zone.dayAt(untilMs)
      for (let day = last; day >= zone.dayAt(sinceMs) && day > last - MOST_DAYS; day--) {
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
