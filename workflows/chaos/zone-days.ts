// The days of a time zone, and the moments of a day at which its clocks show a time. Pure: reads no clock. Milliseconds since the epoch; days are counted
// from 1970-01-01.
//
//   Z1. A time that clocks skip when they are set forward has no moment. A time that they show twice has two.

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
// No zone is further from UTC, and none changes twice in so short a time.
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

/** By how much clocks are ahead of UTC. */
function offsetsOf(name: string): ((ms: number) => number) | undefined {
  if (name === 'UTC') return () => 0
  // Intl takes offsets such as +01:00 as well, which Go does not.
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
