// Validates cron specifications and computes their next time, as robfig/cron v3 does. Pure: reads no clock.
// Source: robfig/cron v3, ParseStandard, SpecSchedule.Next and ConstantDelaySchedule.Next, which Landscaper uses for `cronSpec`:
// five fields or a descriptor, in UTC or with a time zone before them.

/* eslint-disable no-restricted-globals -- Date only converts times that the caller passes; no clock is read. */

import { Cron } from 'croner'
import { parseDuration } from '../kit/index.ts'

interface FieldForm {
  readonly name: string
  readonly min: number
  readonly max: number
  /** Names of the numbers, starting with the name of `min`. */
  readonly names?: readonly string[]
}

const FIELDS: readonly FieldForm[] = [
  { name: 'minute', min: 0, max: 59 },
  { name: 'hour', min: 0, max: 23 },
  { name: 'day of month', min: 1, max: 31 },
  {
    name: 'month',
    min: 1,
    max: 12,
    names: ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'],
  },
  { name: 'day of week', min: 0, max: 6, names: ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'] },
]
const DESCRIPTORS: readonly string[] = ['@yearly', '@annually', '@monthly', '@weekly', '@daily', '@midnight', '@hourly']
const EVERY = /^@every [+]?((\d+(\.\d*)?|\.\d+)(ns|us|µs|μs|ms|s|m|h))+$/
const ZONE = /^(?:CRON_)?TZ=(\S*)\s+(.*)$/s
// Longer texts are rejected without parsing.
const MAX_LENGTH = 1000

/** The wrong part of the text, such as `4 fields`, for a message after "found"; undefined for a valid specification. */
export function cronProblem(text: string): string | undefined {
  if (text.length > MAX_LENGTH) return `${text.length} characters`
  const [, zone, rest] = ZONE.exec(text) ?? []
  if (zone !== undefined && !isTimeZoneName(zone)) return 'a time zone that is unknown'
  const spec = (rest ?? text).trim()
  if (spec.startsWith('@'))
    return DESCRIPTORS.includes(spec) || EVERY.test(spec) ? undefined : 'a descriptor that is unknown'
  const words = spec.split(/\s+/).filter((word) => word !== '')
  if (words.length !== FIELDS.length) return words.length === 1 ? '1 field' : `${words.length} fields`
  const wrong = FIELDS.find((form, index) => !isField(words[index] ?? '', form))
  return wrong === undefined ? undefined : `no value of the field ${wrong.name}`
}

/** Whether the text has the form of a time zone's name. The zone may be unknown to this machine. */
function isTimeZoneName(zone: string): boolean {
  return zone === 'Local' || zone === '' || /^[A-Za-z0-9_+-]+(?:\/[A-Za-z0-9_+-]+)*$/.test(zone)
}

function isField(word: string, form: FieldForm): boolean {
  return word.split(',').every((part) => isRange(part, form))
}

/** `*`, `?`, `3`, `3-5`, `mon-fri`, each optionally followed by `/step`. */
function isRange(part: string, form: FieldForm): boolean {
  const [range = '', step, ...more] = part.split('/')
  if (more.length > 0 || !isStep(step)) return false
  return range === '*' || range === '?' || isSpan(range, form)
}

function isStep(step: string | undefined): boolean {
  return step === undefined || (isNumber(step) && Number(step) > 0)
}

function isSpan(range: string, { min: least, max: most, names = [] }: FieldForm): boolean {
  const [low = NaN, high = low, ...more] = range.split('-').map((end) => numberOf(end, least, names))
  // NaN compares false with every number.
  return more.length === 0 && least <= low && low <= high && high <= most
}

function isNumber(text: string): boolean {
  return /^\d{1,9}$/.test(text)
}

function numberOf(text: string, least: number, names: readonly string[]): number {
  const index = names.indexOf(text.toLowerCase())
  if (index >= 0) return index + least
  return isNumber(text) ? Number(text) : NaN
}

const ZONE_PREFIX = /^(?:CRON_)?TZ=(\S*)\s+/
const EVERY_PREFIX = /^@every [+]?/
const SECOND_MS = 1000
// Landscaper's limit. A longer search, for example for 30 February, would block other work.
const MAX_SEARCH_MS = 5 * 366 * 24 * 3_600_000

/**
 * The first time after `fromMs`, in milliseconds since 1970. Undefined if no time within five years matches, or if this
 * machine does not know the time zone. `Local` is UTC.
 *
 * @param spec has no `cronProblem`.
 */
export function nextTime(spec: string, fromMs: number): number | undefined {
  const zone = ZONE_PREFIX.exec(spec)
  const text = spec.slice(zone?.[0].length ?? 0).trim()
  if (EVERY_PREFIX.test(text)) return everyAfter(text.replace(EVERY_PREFIX, ''), fromMs)
  const name = zone?.[1]
  const timezone = name === undefined || name === '' || name === 'Local' ? 'UTC' : name
  try {
    const stopAt = new Date(fromMs + MAX_SEARCH_MS)
    const cron = new Cron(asCroner(text), { timezone, stopAt, mode: '5-part', paused: true })
    return cron.nextRun(new Date(fromMs))?.getTime()
  } catch {
    // The syntax was validated, so the error means that this machine does not know the time zone.
    return undefined
  }
}

/** Rounds the interval and the start down to whole seconds; the interval is at least 1 s. Source: ConstantDelaySchedule. */
function everyAfter(duration: string, fromMs: number): number | undefined {
  const ms = parseDuration(duration)
  if (ms === undefined) return undefined
  const seconds = Math.max(1, Math.floor((ms === 'none' ? 0 : ms) / SECOND_MS))
  return Math.floor(fromMs / SECOND_MS) * SECOND_MS + seconds * SECOND_MS
}

const EVERY_VALUE = /^[*?](?:\/0*1)?$/

/**
 * Translates to croner's syntax. Croner needs `3-59/15` for `3/15`. For robfig/cron, a day field with a part `*` or `?`, also
 * with step 1, does not restrict the days; croner needs the field `*` for this, otherwise it combines both day fields with
 * "or".
 */
function asCroner(text: string): string {
  if (text.startsWith('@')) return text.replace('@midnight', '@daily')
  return text
    .split(/\s+/)
    .map((field, index) => {
      const parts = field.split(',')
      if (parts.some((part) => EVERY_VALUE.test(part))) return '*'
      const max = FIELDS[index]?.max ?? ''
      return parts.map((part) => part.replace('?', '*').replace(/^([a-z0-9]+)\//i, `$1-${max}/`)).join(',')
    })
    .join(' ')
}
