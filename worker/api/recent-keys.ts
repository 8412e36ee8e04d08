// Keys that were seen lately: each for so long, and no more than so many, the oldest of which go first.

export interface RecentKeys {
  readonly has: (key: string) => boolean
  /** Holds from now. */
  readonly add: (key: string) => void
  readonly forget: (key: string) => void
}

/** @param now milliseconds of a steady clock. */
export function createRecentKeys(ms: number, most: number, now: () => number): RecentKeys {
  const until = new Map<string, number>()
  return {
    has: (key) => (until.get(key) ?? 0) > now(),
    add: (key) => {
      // The order of the map is that of the times.
      until.delete(key)
      until.set(key, now() + ms)
      for (const [oldest, end] of until) {
        if (until.size <= most && end > now()) break
        until.delete(oldest)
      }
    },
    forget: (key) => void until.delete(key),
  }
}
