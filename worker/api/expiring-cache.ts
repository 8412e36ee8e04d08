// Answers that hold for a short time, each asked for once by all who want it meanwhile. Failures are not entries.



export interface ExpiringCache<Answer> {
  readonly get: (key: string, load: () => Promise<Answer>) => Promise<Answer>
}

/** @param maxSize so many are entries, the oldest go first. @param now milliseconds of a steady clock. */
export function createExpiringCache<Answer>(ms: number, maxSize: number, now: () => number): ExpiringCache<Answer> {
  const entries = new Map<string, { readonly answer: Promise<Answer>; readonly expiresAt: number }>()
  return {
    get: (key, load) => {
      const existing = entries.get(key)
      if (existing !== undefined && existing.expiresAt > now()) return existing.answer
      entries.delete(key)
      // From the time of asking: a right that was taken since must not hold longer.
      const entry = { answer: load(), expiresAt: now() + ms }
      entries.set(key, entry)
      for (const oldest of entries.keys()) {
        if (entries.size <= maxSize) break
        entries.delete(oldest)
      }
      entry.answer.catch(() => {
        if (entries.get(key) === entry) entries.delete(key)
      })
      return entry.answer
    },
  }
}

// Keys that were seen lately: each for so long, and no more than so many, the oldest of which go first.

export interface ExpiringSet {
  readonly has: (key: string) => boolean
  /** Holds from now. */
  readonly add: (key: string) => void
  readonly forget: (key: string) => void
}

/** @param now milliseconds of a steady clock. */
export function createExpiringSet(ms: number, maxSize: number, now: () => number): ExpiringSet {
  const expiresAt = new Map<string, number>()
  return {
    has: (key) => (expiresAt.get(key) ?? 0) > now(),
    add: (key) => {
      // The order of the map is that of the times.
      expiresAt.delete(key)
      expiresAt.set(key, now() + ms)
      for (const [oldest, end] of expiresAt) {
        if (expiresAt.size <= maxSize && end > now()) break
        expiresAt.delete(oldest)
      }
    },
    forget: (key) => void expiresAt.delete(key),
  }
}
