// Points in time, as Kubernetes writes them. Nothing here asks a clock.

// Source: RFC 3339, 5.6.
const RFC_3339 = /^\d{4}-\d{2}-\d{2}[Tt]\d{2}:\d{2}:\d{2}(?:\.\d+)?(?:[Zz]|[+-]\d{2}:\d{2})$/

/** A time of RFC 3339 in milliseconds since the epoch; undefined for what is none. */
export function instantMs(value: unknown): number | undefined {
  if (typeof value !== 'string' || !RFC_3339.test(value)) return undefined
  // eslint-disable-next-line no-restricted-globals -- reads a text, asks no clock
  const ms = Date.parse(value)
  return Number.isNaN(ms) ? undefined : ms
}

/** As Kubernetes writes it, in whole seconds; what is less goes. */
export function instantText(ms: number): string {
  // eslint-disable-next-line no-restricted-globals -- formats a number, asks no clock
  return new Date(Math.floor(ms / 1000) * 1000).toISOString().replace('.000Z', 'Z')
}
