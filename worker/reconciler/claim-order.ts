// Who claims wakes first: the controllers without a bound together, or one of those that bound their passes. What can be started is little and is given
// back piece by piece (fresh-runs.ts), so whoever always came first would have all of it for as long as it has more.

/** The controllers that bound nothing, together. */
export const UNBOUNDED = ''

export class ClaimOrder {
  /** Those that have had all there was, longest ago first. */
  readonly #served = new Set<string>()

  /** UNBOUNDED and these, in the order in which they may claim. */
  of(bounded: Iterable<string>): readonly string[] {
    const claimants = new Set([UNBOUNDED, ...bounded])
    return [...[...claimants].filter((name) => !this.#served.has(name)), ...this.#served].filter((name) =>
      claimants.has(name),
    )
  }

  /** It has taken what was left: all others come before it. */
  hadAll(claimant: string): void {
    this.#served.delete(claimant)
    this.#served.add(claimant)
  }
}
