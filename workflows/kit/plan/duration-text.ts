// Formats durations for people, in traces and in Temporal's UI. Pure.

// Each unit with its size and the size of the next larger unit.
const UNITS = [
  ['d', 86_400_000, Infinity],
  ['h', 3_600_000, 86_400_000],
  ['min', 60_000, 3_600_000],
  ['s', 1000, 60_000],
] as const

/** `3 min 54 s`: the two largest units. */
export function durationText(ms: number): string {
  if (ms < 1000) return `${ms} ms`
  const counts = UNITS.map(([unit, size, larger]) => ({ unit, count: Math.floor((ms % larger) / size) }))
  const texts = counts.filter(({ count }) => count > 0).map(({ unit, count }) => `${count} ${unit}`)
  return texts.slice(0, 2).join(' ')
}
