// Converts Kubernetes timestamps. Nothing here reads a clock.

// Source: RFC 3339, 5.6.
const RFC_3339 = /^\d{4}-\d{2}-\d{2}[Tt]\d{2}:\d{2}:\d{2}(?:\.\d+)?(?:[Zz]|[+-]\d{2}:\d{2})$/

/** An RFC 3339 timestamp in milliseconds since the epoch; undefined for an invalid one. */
export function timestampMs(value: unknown): number | undefined {
  if (typeof value !== 'string' || !RFC_3339.test(value)) return undefined
  // eslint-disable-next-line no-restricted-globals -- reads a text, asks no clock
  const ms = Date.parse(value)
  return Number.isNaN(ms) ? undefined : ms
}

/** A Kubernetes timestamp, rounded down to whole seconds. */
export function timestampText(ms: number): string {
  // eslint-disable-next-line no-restricted-globals -- formats a number, asks no clock
  return new Date(Math.floor(ms / 1000) * 1000).toISOString().replace('.000Z', 'Z')
}
