// Durations of Go's time package: text such as `1h30m`, or in JSON a number of nanoseconds. The functions compute with
// bigints, because a double does not hold 64 bits of nanoseconds. JSON has no bigints: convert the result before it enters
// an object or a workflow's payload.

import { intOrString } from '../kit/index.ts'

const UNITS = {
  ns: 1n,
  us: 1_000n,
  µs: 1_000n,
  μs: 1_000n,
  ms: 1_000_000n,
  s: 1_000_000_000n,
  m: 60_000_000_000n,
  h: 3_600_000_000_000n,
} as const
const [MIN_NS, MAX_NS] = [-(2n ** 63n), 2n ** 63n - 1n]
const MAX_TEXT_LENGTH = 100

const PART = '(?:[0-9]+(?:\\.[0-9]*)?|\\.[0-9]+)(?:ns|us|µs|μs|ms|s|m|h)'
const DURATION = new RegExp(`^[-+]?(?:0|(?:${PART})+)$`)

/** The expected format of a duration, for messages. */
export const EXPECTED_DURATION = 'a duration such as 1m30s'

/**
 * A duration in nanoseconds; undefined for invalid text, an empty text, and durations beyond 64 bits.
 *
 * Source: Go's time.ParseDuration.
 */
export function parseGoDuration(value: unknown): bigint | undefined {
  if (typeof value === 'number') return Number.isInteger(value) ? ifInt64(BigInt(value)) : undefined
  if (typeof value !== 'string' || value.length > MAX_TEXT_LENGTH || !DURATION.test(value)) return undefined
  const parts = [...value.matchAll(/([0-9]*)(?:\.([0-9]*))?(ns|us|µs|μs|ms|s|m|h)/g)]
  const sum = parts.reduce(
    (total, [, whole = '', fraction = '', unit = 's']) => total + nanosecondsOf(whole, fraction, unit),
    0n,
  )
  return ifInt64(value.startsWith('-') ? -sum : sum)
}

/** A duration in milliseconds, with fractions; undefined when `parseGoDuration` returns undefined. */
export function durationMs(value: unknown): number | undefined {
  const ns = parseGoDuration(value)
  return ns === undefined ? undefined : Number(ns) / 1e6
}

/** The duration in Go's format: `1h0m0s`, `1.5s`, `100ms`, `0s`. Source: Go's time.Duration.String. */
export function formatGoDuration(ns: bigint): string {
  if (ns === 0n) return '0s'
  if (ns < 0n) return `-${formatGoDuration(-ns)}`
  if (ns < UNITS.us) return `${ns}ns`
  if (ns < UNITS.ms) return `${decimal(ns, UNITS.us)}µs`
  if (ns < UNITS.s) return `${decimal(ns, UNITS.ms)}ms`
  const [hours, minutes, rest] = [ns / UNITS.h, (ns / UNITS.m) % 60n, ns % UNITS.m]
  const seconds = `${decimal(rest, UNITS.s)}s`
  if (hours > 0n) return `${hours}h${minutes}m${seconds}`
  return minutes > 0n ? `${minutes}m${seconds}` : seconds
}

/** A duration in Go's format; undefined for an invalid one. */
export function normalizeGoDuration(value: unknown): string | undefined {
  const ns = parseGoDuration(value)
  return ns === undefined ? undefined : formatGoDuration(ns)
}

/** Milliseconds in Go's format, rounded to whole ones. */
export function goDurationOfMs(ms: number): string {
  return formatGoDuration(BigInt(Math.round(ms)) * UNITS.ms)
}

/** A schema field for a duration: text, or a whole number of nanoseconds. An empty text means no duration. */
export function durationField(description: string) {
  return intOrString(description, {
    // Accepts an empty text and the texts of DURATION. Plain groups are shorter in the CRD.
    pattern: `^([-+]?(0|(${PART.replaceAll('(?:', '(')})+))?$`,
    maxLength: MAX_TEXT_LENGTH,
  })
}

function nanosecondsOf(whole: string, fraction: string, unit: string): bigint {
  const size = UNITS[unit as keyof typeof UNITS]
  const ofFraction = fraction === '' ? 0n : (BigInt(fraction) * size) / 10n ** BigInt(fraction.length)
  return BigInt(whole === '' ? 0 : whole) * size + ofFraction
}

/** The value; undefined if it does not fit into 64 bits. */
function ifInt64(ns: bigint): bigint | undefined {
  return ns < MIN_NS || ns > MAX_NS ? undefined : ns
}

function decimal(value: bigint, unit: bigint): string {
  const digits = String(unit).length - 1
  const fraction = String(value % unit)
    .padStart(digits, '0')
    .replace(/0+$/, '')
  return `${value / unit}${fraction === '' ? '' : `.${fraction}`}`
}
