// The next time that a cron specification means, as robfig/cron v3 counts it. Pure: it asks no clock.
// Source: robfig/cron v3, SpecSchedule.Next and ConstantDelaySchedule.Next; five fields in UTC unless a time zone stands before them.

import { Cron } from 'croner'

import { parseDuration } from '../kit/index.ts'

/* eslint-disable no-restricted-globals -- Times are converted; no clock is asked. */

const ZONE = /^(?:CRON_)?TZ=(\S*)\s+/
const EVERY = /^@every [+]?/
const SECOND_MS = 1000
// As the original; who looks further for 30 February keeps all others waiting.
const LONGEST_MS = 5 * 366 * 24 * 3_600_000

/** In milliseconds since 1970; undefined for what never comes, and for an unknown time zone. @param spec one without a `cronProblem`. */
export function nextTime(spec: string, fromMs: number): number | undefined {
  const zone = ZONE.exec(spec)
  const text = spec.slice(zone?.[0].length ?? 0).trim()
  if (EVERY.test(text)) return everyAfter(text.replace(EVERY, ''), fromMs)
  const name = zone?.[1]
  const timezone = name === undefined || name === '' || name === 'Local' ? 'UTC' : name
  try {
    const stopAt = new Date(fromMs + LONGEST_MS)
    const cron = new Cron(asCroner(text), { timezone, stopAt, mode: '5-part', paused: true })
    return cron.nextRun(new Date(fromMs))?.getTime()
  } catch {
    // The form has been checked: what is left is a time zone that this machine does not know.
    return undefined
  }
}

/** In whole seconds, at least one, as the original counts. */
function everyAfter(duration: string, fromMs: number): number | undefined {
  const ms = parseDuration(duration)
  if (ms === undefined) return undefined
  const seconds = Math.max(1, Math.floor((ms === 'none' ? 0 : ms) / SECOND_MS))
  return Math.floor(fromMs / SECOND_MS) * SECOND_MS + seconds * SECOND_MS
}

/** `?` is `*`, and `3/15` begins at 3 and ends with the field, as crontab has it and croner has not. */
function asCroner(text: string): string {
  if (text.startsWith('@')) return text.replace('@midnight', '@daily')
  return text
    .split(/\s+/)
    .map((field, index) =>
      field
        .split(',')
        .map((part) => part.replace('?', '*').replace(/^([a-z0-9]+)\//i, `$1-${LAST[index] ?? ''}/`))
        .join(','),
    )
    .join(' ')
}

const LAST = [59, 23, 31, 12, 6]
