// Answers that hold for a short time, each asked for once by all who want it meanwhile. Failures are not kept.

export interface BriefCache<Answer> {
  readonly get: (key: string, ask: () => Promise<Answer>) => Promise<Answer>
}

/** @param most so many are kept, the oldest go first. @param now milliseconds of a steady clock. */
export function createBriefCache<Answer>(ms: number, most: number, now: () => number): BriefCache<Answer> {
  const kept = new Map<string, { readonly answer: Promise<Answer>; readonly until: number }>()
  return {
    get: (key, ask) => {
      const found = kept.get(key)
      if (found !== undefined && found.until > now()) return found.answer
      kept.delete(key)
      // From the time of asking: a right that was taken since must not hold longer.
      const entry = { answer: ask(), until: now() + ms }
      kept.set(key, entry)
      for (const oldest of kept.keys()) {
        if (kept.size <= most) break
        kept.delete(oldest)
      }
      entry.answer.catch(() => {
        if (kept.get(key) === entry) kept.delete(key)
      })
      return entry.answer
    },
  }
}
