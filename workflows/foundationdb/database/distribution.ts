// Chooses processes that are spread over fault domains: initial coordinators, coordinators, and the process groups that stay
// when a class shrinks. Source: spec/foundationdb.md 4.8.
//
//   S1. The choice does not depend on the order of the candidates.
//   S2. No value of a field occurs more often than its limit.

export interface Candidate {
  /** Unique. */
  readonly id: string
  /** Higher is preferred; default: 0. */
  readonly priority?: number
  /** By field, such as `zoneid`; a missing field counts as one value. */
  readonly locality: Readonly<Record<string, string>>
}

export interface DistributionRules {
  readonly count: number
  /** The first field is the most important. Default: `zoneid`, `dcid`. */
  readonly fields?: readonly string[]
  /** The most candidates with the same value; default: `count`. */
  readonly limits?: Readonly<Record<string, number>>
  /** Candidates of this data centre come first. */
  readonly primaryDataCenter?: string | undefined
}

export type Distribution<One> =
  | { readonly chosen: readonly One[] }
  /** Too few candidates satisfy the limits. */
  | { readonly problem: string }

export const DISTRIBUTION_FIELDS: readonly string[] = ['zoneid', 'dcid']

export function distribute<One extends Candidate>(
  candidates: readonly One[],
  rules: DistributionRules,
): Distribution<One> {
  const { count, fields = DISTRIBUTION_FIELDS, limits = {}, primaryDataCenter } = rules
  const ordered = candidates.toSorted((one, other) => compare(one, other, primaryDataCenter))
  const current = fields.map(() => 1)
  const hard = fields.map((field) => limits[field] ?? count)
  const used = fields.map(() => new Map<string, number>())
  const chosen = new Set<One>()
  const valueOf = (one: One, at: number) => one.locality[fields[at] ?? ''] ?? ''
  const fits = (one: One) => used.every((counts, at) => (counts.get(valueOf(one, at)) ?? 0) < (current[at] ?? 0))
  while (chosen.size < count) {
    const before = chosen.size
    for (const one of ordered) {
      if (chosen.size === count) break
      if (chosen.has(one) || !fits(one)) continue
      chosen.add(one)
      used.forEach((counts, at) => counts.set(valueOf(one, at), (counts.get(valueOf(one, at)) ?? 0) + 1))
    }
    if (chosen.size > before) continue
    const raised = current.findLastIndex((limit, at) => limit < (hard[at] ?? 0))
    if (raised < 0) return { problem: `Could only select ${chosen.size} processes, but ${count} are required` }
    current[raised] = (current[raised] ?? 0) + 1
  }
  return { chosen: [...chosen] }
}

function compare(one: Candidate, other: Candidate, primary: string | undefined): number {
  const inPrimary = ({ locality }: Candidate) => (primary !== undefined && locality['dcid'] === primary ? 0 : 1)
  const places = inPrimary(one) - inPrimary(other)
  if (places !== 0) return places
  const priorities = (other.priority ?? 0) - (one.priority ?? 0)
  if (priorities !== 0) return priorities
  return compareTexts(one.id, other.id)
}

/** By UTF-16 code units: the same everywhere. */
export function compareTexts(one: string, other: string): number {
  if (one === other) return 0
  return one < other ? -1 : 1
}
