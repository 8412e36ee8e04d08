// The times of a schedule, as batch/v1 writes them. Pure: it asks no clock, every question says from when.

import { Cron } from 'croner'

export interface Schedule {
  /** The first time after this moment; undefined when there is none, as for 30 February. */
  readonly after: (moment: Date) => Date | undefined
  /** The last time that is not after this moment. */
  readonly notAfter: (moment: Date) => Date | undefined
}

export interface ScheduleProblem {
  readonly code: 'InvalidSchedule' | 'UnknownTimeZone'
  readonly message: string
}

// What croner takes besides, and batch/v1 does not: points in time, seconds, years.
const CRONTAB = /^(?:@(?:yearly|annually|monthly|weekly|daily|midnight|hourly)|\S+(?: +\S+){4})$/
const SECOND_MS = 1000

/** Reads a schedule, or says what is wrong with it. */
export function readSchedule({
  schedule,
  timeZone = 'UTC',
}: {
  schedule: string
  timeZone?: string
}): Schedule | ScheduleProblem {
  if (!isTimeZone(timeZone)) {
    return { code: 'UnknownTimeZone', message: `spec.timeZone is '${timeZone}'; expected a name such as Europe/Berlin` }
  }
  const cron = CRONTAB.test(schedule.trim()) ? cronOf(schedule.trim(), timeZone) : undefined
  if (cron === undefined) {
    return { code: 'InvalidSchedule', message: `spec.schedule is '${schedule}'; expected five fields as in crontab` }
  }
  return {
    after: (moment) => cron.nextRun(moment) ?? undefined,
    // croner counts in whole seconds, and leaves out the moment itself.
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
