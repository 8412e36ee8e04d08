// Parses durations in Go's syntax, as in Kubernetes, and `none` for no limit.

const UNITS_MS: Readonly<Record<string, number>> = {
  ns: 1e-6,
  us: 1e-3,
  µs: 1e-3,
  μs: 1e-3,
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
}
const LONGEST_TEXT = 100
const PART = /(\d+(?:\.\d*)?|\.\d+)(ns|us|µs|μs|ms|s|m|h)/g

// Go counts nanoseconds in 63 bits, about 292 years.
const LIMIT_MS = 2 ** 63 / 1e6

/** `1m30s` in milliseconds; 'none' for no limit; undefined for an invalid duration or one beyond Go's limit. */
export function parseDuration(text: string): number | 'none' | undefined {
  if (text === 'none' || text === '0') return 'none'
  if (text.length > LONGEST_TEXT) return undefined
  const parts = [...text.matchAll(PART)]
  if (parts.length === 0 || parts.map(([part]) => part).join('') !== text) return undefined
  const sumMs = parts.reduce((sum, [, number, unit]) => sum + Number(number) * (UNITS_MS[unit ?? ''] ?? 0), 0)
  return sumMs < LIMIT_MS ? sumMs : undefined
}
