// Computes the next time of a cron specification as robfig/cron v3 does. Pure: reads no clock.
// Source: robfig/cron v3, SpecSchedule.Next and ConstantDelaySchedule.Next; five fields in UTC, or in the time zone before them.

import { Cron } from 'croner'

import { parseDuration } from '../kit/index.ts'

/* eslint-disable no-restricted-globals -- Times are converted; no clock is asked. */

const ZONE = /^(?:CRON_)?TZ=(\S*)\s+/
const EVERY = /^@every [+]?/
const SECOND_MS = 1000
// Landscaper's limit. A longer search, for example for 30 February, would block other work.
const LONGEST_MS = 5 * 366 * 24 * 3_600_000

/** In milliseconds since 1970; undefined if the time never occurs, and for an unknown time zone. @param spec has no `cronProblem`. */
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
    // The syntax was validated, so the error means that this machine does not know the time zone.
    return undefined
  }
}

/** In whole seconds, at least one, as in Landscaper. */
function everyAfter(duration: string, fromMs: number): number | undefined {
  const ms = parseDuration(duration)
  if (ms === undefined) return undefined
  const seconds = Math.max(1, Math.floor((ms === 'none' ? 0 : ms) / SECOND_MS))
  return Math.floor(fromMs / SECOND_MS) * SECOND_MS + seconds * SECOND_MS
}

/** Translates to croner's syntax: `?` is `*`, and `3/15` starts at 3 and ends with the field. */
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
