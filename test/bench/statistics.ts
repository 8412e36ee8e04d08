// Statistics over measurements. Pure.

/** @throws without values. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b)
  const upper = sorted[Math.floor(sorted.length / 2)]
  const lower = sorted[Math.ceil(sorted.length / 2) - 1]
  if (upper === undefined || lower === undefined) throw new Error('median: found no values, expected at least one')
  return (lower + upper) / 2
}

/** The smallest value that the share `q` (0 to 1) of all values does not exceed; NaN without values. */
export function quantile(values: readonly number[], q: number): number {
  const sorted = [...values].sort((a, b) => a - b)
  const rank = Math.min(sorted.length, Math.max(1, Math.ceil(q * sorted.length)))
  return sorted[rank - 1] ?? NaN
}

export function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0)
}
