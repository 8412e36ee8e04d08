// Parses a cron specification into the values of its five fields and a time zone, or into an interval. Pure.
// Source: robfig/cron v3, ParseStandard, with which chaos-controller reads `spec.schedule`.

import { parseGoDuration } from './go-duration.ts'

/** The times that the five fields match, in the local time of a zone. */
export interface CronFields {
  readonly minutes: ReadonlySet<number>
  readonly hours: ReadonlySet<number>
  readonly days: ReadonlySet<number>
  readonly months: ReadonlySet<number>
  readonly weekdays: ReadonlySet<number>
  /**
   * Whether a day must match both `days` and `weekdays`: one of the two fields contains `*` or `?`. Otherwise one match
   * is enough.
   */
  readonly needsBothDays: boolean
}

/** An interval (`@every 2h`), or the matching times in a zone. */
export type CronSpec =
  { readonly everyMs: number } | { readonly fields: CronFields; /** Default: UTC. */ readonly zone: string }

const ZONE = /^(?:CRON_)?TZ=([^ ]*) (.*)$/s
const EVERY = '@every '
const [SECOND_MS, SECOND_NS] = [1000, 1_000_000_000n]
const DESCRIPTORS: ReadonlyMap<string, string> = new Map([
  ['@yearly', '0 0 1 1 *'],
  ['@annually', '0 0 1 1 *'],
  ['@monthly', '0 0 1 * *'],
  ['@weekly', '0 0 * * 0'],
  ['@daily', '0 0 * * *'],
  ['@midnight', '0 0 * * *'],
  ['@hourly', '0 * * * *'],
])
// The first name is a placeholder, because months count from 1.
const MONTHS = ['', 'jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec']
const WEEKDAYS = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat']

/** Undefined for a text that ParseStandard refuses. An unknown zone is accepted here; the caller checks it. */
export function parseCronSpec(text: string): CronSpec | undefined {
  const [, prefix, rest] = ZONE.exec(text) ?? []
  const spec = rest === undefined ? text : rest.trim()
  // An interval has no zone; ParseStandard ignores it, too.
  if (spec.startsWith(EVERY)) return everyOf(spec.slice(EVERY.length))
  const fields = fieldsIn(DESCRIPTORS.get(spec) ?? spec)
  // Without a zone and with `TZ=Local`, Go uses its local time, which is UTC in a container. `TZ=` is UTC in Go.
  const zone = prefix === undefined || prefix === '' || prefix === 'Local' ? 'UTC' : prefix
  return fields === undefined ? undefined : { fields, zone }
}

/** Whole seconds, at least one. */
function everyOf(duration: string): CronSpec | undefined {
  const ns = parseGoDuration(duration)
  return ns === undefined ? undefined : { everyMs: Math.max(1, Number(ns / SECOND_NS)) * SECOND_MS }
}

function fieldsIn(spec: string): CronFields | undefined {
  const words = spec.split(/\s+/).filter((word) => word !== '')
  const [minutes, hours, days, months, weekdays] = [
    valuesOf(words[0], { least: 0, most: 59 }),
    valuesOf(words[1], { least: 0, most: 23 }),
    valuesOf(words[2], { least: 1, most: 31 }),
    valuesOf(words[3], { least: 1, most: 12, names: MONTHS }),
    // As in robfig/cron, 7 is not Sunday.
    valuesOf(words[4], { least: 0, most: 6, names: WEEKDAYS }),
  ]
  if (words.length !== 5 || !minutes || !hours || !days || !months || !weekdays) return undefined
  return {
    minutes: minutes.values,
    hours: hours.values,
    days: days.values,
    months: months.values,
    weekdays: weekdays.values,
    needsBothDays: days.isStar || weekdays.isStar,
  }
}

interface Bounds {
  readonly least: number
  readonly most: number
  /** Names of numbers, by the number. */
  readonly names?: readonly string[]
}

interface Values {
  readonly values: ReadonlySet<number>
  /** The field has a `*` or `?` without a step above 1. As in robfig/cron, `*` with step 2 does not count. */
  readonly isStar: boolean
}

/** As in robfig/cron, empty ranges are ignored: the field `,` has no values and never matches. */
function valuesOf(word: string | undefined, bounds: Bounds): Values | undefined {
  const ranges = word?.split(',').filter((range) => range !== '') ?? []
  const parsed = ranges.map((range) => rangeOf(range, bounds))
  if (word === undefined || parsed.includes(undefined)) return undefined
  const known = parsed.filter((one) => one !== undefined)
  return { values: new Set(known.flatMap(({ values }) => [...values])), isStar: known.some(({ isStar }) => isStar) }
}

/** `*`, `?`, `3`, `3-5` or `mon-fri`, each perhaps with `/step`; `3/15` ends with the field. */
function rangeOf(text: string, bounds: Bounds): Values | undefined {
  const [range = '', stepText, ...more] = text.split('/')
  const step = stepText === undefined ? 1 : numberOf(stepText)
  if (more.length > 0 || step === undefined || step === 0) return undefined
  const isStar = /^[*?](?:-|$)/.test(range)
  // robfig/cron ignores the end of a range that starts with a star (`*-5`), and refuses `*5`.
  const span = isStar ? [bounds.least, bounds.most] : spanOf(range, bounds, stepText !== undefined)
  return span && { values: stepped(span, step), isStar: isStar && step === 1 }
}

/** @param isStepped a step follows: a single value is the first of many. */
function spanOf(range: string, bounds: Bounds, isStepped: boolean): readonly number[] | undefined {
  const ends = range.split('-').map((end) => valueOf(end, bounds))
  const [start, last = isStepped ? bounds.most : start] = ends
  if (ends.length > 2 || ends.includes(undefined) || start === undefined || last === undefined) return undefined
  return bounds.least <= start && start <= last && last <= bounds.most ? [start, last] : undefined
}

function stepped([start = 0, end = 0]: readonly number[], step: number): ReadonlySet<number> {
  const values = new Set<number>()
  for (let value = start; value <= end; value += step) values.add(value)
  return values
}

function valueOf(text: string, { names = [] }: Bounds): number | undefined {
  // An empty text must not match the placeholder in MONTHS.
  const named = text === '' ? -1 : names.indexOf(text.toLowerCase())
  return named === -1 ? numberOf(text) : named
}

/** As Go's strconv.Atoi reads it, without negative numbers. */
function numberOf(text: string): number | undefined {
  return /^\+?\d{1,18}$/.test(text) ? Number(text) : undefined
}
