// Who is answered when: of each bucket so many questions at a time and so many a second, so that one tenant cannot take the process from the others.
//
//   T1. A question waits while others of its bucket are answered; when too many wait already, it is turned away at once.
//   T2. What a bucket asks is counted over time: a store of questions that fills up evenly.
//   T3. A bucket that asks nothing takes no memory.



export interface RateLimits {
  /** Of a bucket, at a time. */
  readonly concurrent: number
  /** Of a bucket, at most, for a turn. */
  readonly queued: number
  /** Of a bucket. */
  readonly perSecond: number
  /** So many may come at once after a silence. */
  readonly burst: number
  /** What there are too many of, for the one who is turned away. */
  readonly unit: string
}

/** Come again later. */
export class RateLimited extends Error {}

export type RateLimiter = <Answer>(bucket: string, work: () => Promise<Answer>) => Promise<Answer>

interface Bucket {
  running: number
  readonly queue: (() => void)[]
  tokens: number
  filledAt: number
}

/** @param now milliseconds of a steady clock. */
export function createRateLimiter({ concurrent: atOnce, queued: waiting, perSecond, burst, unit: what }: RateLimits, now: () => number): RateLimiter {
  const buckets = new Map<string, Bucket>()
  const bucketOf = (name: string): Bucket => {
    const found = buckets.get(name)
    if (found !== undefined) return found
    const created = { running: 0, queue: [], tokens: burst, filledAt: now() }
    buckets.set(name, created)
    return created
  }
  const fill = (bucket: Bucket) => {
    const at = now()
    bucket.tokens = Math.min(burst, bucket.tokens + ((at - bucket.filledAt) / 1000) * perSecond)
    bucket.filledAt = at
  }
  // T3
  const removeFullBuckets = () => {
    for (const [name, bucket] of buckets) {
      fill(bucket)
      if (bucket.running === 0 && bucket.tokens >= burst) buckets.delete(name)
    }
  }
  return async (name, work) => {
    if (buckets.size > MAX_BUCKETS) removeFullBuckets()
    const bucket = bucketOf(name)
    fill(bucket)
    if (bucket.tokens < 1 || bucket.queue.length >= waiting)
      throw new RateLimited(`too many ${what}; expected at most ${perSecond} a second, ${atOnce} at a time`)
    bucket.tokens -= 1
    if (bucket.running >= atOnce) await new Promise<void>((resolve) => bucket.queue.push(resolve))
    else bucket.running += 1
    try {
      return await work()
    } finally {
      // The place goes on to the next in the queue.
      const next = bucket.queue.shift()
      if (next === undefined) bucket.running -= 1
      else next()
    }
  }
}

const MAX_BUCKETS = 1000
