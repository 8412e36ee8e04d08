// A cache and a set of keys. Their entries expire, and above the maximum size the oldest entries are removed first.
// Concurrent callers of the cache share one load; failed loads are not cached.

export interface ExpiringCache<Answer> {
  readonly get: (key: string, load: () => Promise<Answer>) => Promise<Answer>
}

/** @param maxSize maximum number of entries. @param now milliseconds of a monotonic clock. */
export function createExpiringCache<Answer>(
  lifetimeMs: number,
  maxSize: number,
  now: () => number,
): ExpiringCache<Answer> {
  const entries = new Map<string, { readonly answer: Promise<Answer>; readonly expiresAt: number }>()
  return {
    get: (key, load) => {
      const existing = entries.get(key)
      if (existing !== undefined && existing.expiresAt > now()) return existing.answer
      entries.delete(key)
      // The lifetime starts at the request: a permission that was revoked during the request must not be valid any
      // longer.
      const entry = { answer: load(), expiresAt: now() + lifetimeMs }
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

export interface ExpiringSet {
  readonly has: (key: string) => boolean
  /** Adds the key, or renews its lifetime. */
  readonly add: (key: string) => void
  readonly forget: (key: string) => void
}

/** @param now milliseconds of a monotonic clock. */
export function createExpiringSet(lifetimeMs: number, maxSize: number, now: () => number): ExpiringSet {
  const expiresAt = new Map<string, number>()
  return {
    has: (key) => (expiresAt.get(key) ?? 0) > now(),
    add: (key) => {
      // All keys have the same lifetime, so the oldest keys of the map expire first. Expired keys are removed too.
      expiresAt.delete(key)
      expiresAt.set(key, now() + lifetimeMs)
      for (const [oldest, end] of expiresAt) {
        if (expiresAt.size <= maxSize && end > now()) break
        expiresAt.delete(oldest)
      }
    },
    forget: (key) => void expiresAt.delete(key),
  }
}
