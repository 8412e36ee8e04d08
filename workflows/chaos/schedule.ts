// The times of a schedule, as robfig/cron v3 reads them: five fields or a descriptor, in UTC unless a time zone stands before them. Pure: every question says
// from when. Milliseconds since the epoch. Source: spec/chaos.md 2.12.

import { Cron } from 'croner'

export interface Schedule {
  /** The first time after this moment; undefined when there is none, as for 30 February. */
  readonly after: (ms: number) => number | undefined
  /** The last time that is later than the first of these moments, and not later than the second. */
  readonly lastIn: (sinceMs: number, untilMs: number) => number | undefined
}

export const EXPECTED_SCHEDULE = 'five fields as in crontab, such as */15 * * * *, or @hourly'

const ZONE = /^(?:CRON_)?TZ=(\S+)\s+/
const DESCRIPTOR = /^@(?:yearly|annually|monthly|weekly|daily|midnight|hourly)$/
const NAMES = /\b(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec|sun|mon|tue|wed|thu|fri|sat)\b/gi
const FIELD = /^[0-9*?,/-]+$/
const FIELD_COUNT = 5
const LONGEST = 200
const SECOND_MS = 1000

/** Undefined for what is no schedule. */
export function readSchedule(text: string): Schedule | undefined {
  if (text.length > LONGEST) return undefined
  const zone = ZONE.exec(text)
  const pattern = text.slice(zone?.[0].length ?? 0).trim()
  const cron = isPattern(pattern) ? cronOf(pattern, zone?.[1] ?? 'UTC') : undefined
  if (cron === undefined) return undefined
  return {
    after: (ms) => cron.nextRun(dateOf(ms))?.getTime(),
    lastIn(sinceMs, untilMs) {
      // croner leaves out the moment itself, and counts in whole seconds.
      const last = cron.previousRuns(1, dateOf((Math.floor(untilMs / SECOND_MS) + 1) * SECOND_MS))[0]?.getTime()
      return last !== undefined && last > sinceMs ? last : undefined
    },
  }
}

function isPattern(pattern: string): boolean {
  if (pattern.startsWith('@')) return DESCRIPTOR.test(pattern)
  const fields = pattern.split(/\s+/)
  return fields.length === FIELD_COUNT && fields.every((field) => FIELD.test(field.replaceAll(NAMES, '0')))
}

function cronOf(pattern: string, timezone: string): Cron | undefined {
  // `?` is `*`; for croner it is the time at which it is made.
  const text = pattern.replace('@midnight', '@daily').replaceAll('?', '*')
  try {
    const cron = new Cron(text, { timezone, mode: '5-part', sloppyRanges: true, paused: true })
    // The name of a time zone is read with the first time.
    cron.nextRun(dateOf(0))
    return cron
  } catch {
    return undefined
  }
}

function dateOf(ms: number): Date {
  // eslint-disable-next-line no-restricted-globals -- turns a number, asks no clock
  return new Date(ms)
}
