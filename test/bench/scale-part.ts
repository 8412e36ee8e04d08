// What a part of the scale scenario gives back: a section of the report and its claims.

import type { Claim } from './claims.ts'
import type { Size } from './scenario-options.ts'

export interface PartResult {
  readonly title: string
  /** Markdown without heading. */
  readonly text: string
  readonly claims: readonly Claim[]
}

const DIVISORS: Readonly<Record<Size, number>> = { full: 1, small: 10, tiny: 100 }

/** A number of the goals, in the chosen size; never less than `least`. */
export function sized(full: number, size: Size, least = 1): number {
  return Math.max(least, Math.round(full / DIVISORS[size]))
}
