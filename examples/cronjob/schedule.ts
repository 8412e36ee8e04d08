// Computes the times of a schedule in the format of batch/v1. Pure functions: the caller passes the time.

import { Cron } from 'croner'

export interface Schedule {
  /** The first scheduled time after `moment`; undefined if none exists, as for 30 February. */
  readonly after: (moment: Date) => Date | undefined
  /** The last scheduled time at or before `moment`. */
  readonly notAfter: (moment: Date) => Date | undefined
}

export interface ScheduleProblem {
  readonly code: 'InvalidSchedule' | 'UnknownTimeZone'
  readonly message: string
}

// croner also accepts dates, seconds and years; batch/v1 does not.
const CRONTAB = /^(?:@(?:yearly|annually|monthly|weekly|daily|midnight|hourly)|\S+(?: +\S+){4})$/
const SECOND_MS = 1000

/** Parses a schedule, or returns its problem. */
export function readSchedule({
  schedule,
  timeZone = 'UTC',
}: {
  schedule: string
  timeZone?: string
}): Schedule | ScheduleProblem {
  if (!isTimeZone(timeZone)) {
    return {
      code: 'UnknownTimeZone',
      message: `spec.timeZone: found '${timeZone}'; expected a name such as Europe/Berlin`,
    }
  }
  const cron = CRONTAB.test(schedule.trim()) ? cronOf(schedule.trim(), timeZone) : undefined
  if (cron === undefined) {
    return {
      code: 'InvalidSchedule',
      message: `spec.schedule: found '${schedule}'; expected five fields as in crontab, such as */5 * * * *, or a descriptor such as @hourly`,
    }
  }
  return {
    after: (moment) => cron.nextRun(moment) ?? undefined,
    // croner counts whole seconds and excludes the given time; one second more includes it.
    notAfter: (moment) => cron.previousRuns(1, new Date(moment.getTime() + SECOND_MS))[0],
  }
}

function cronOf(pattern: string, timezone: string): Cron | undefined {
  try {
    return new Cron(pattern, { timezone, mode: '5-part', sloppyRanges: true, paused: true })
  } catch {
    return undefined
  }
}

function isTimeZone(name: string): boolean {
  try {
    new Intl.DateTimeFormat('en', { timeZone: name })
    return true
  } catch {
    return false
  }
}
