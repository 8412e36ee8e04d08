// Limits concurrency and rate per key, so that one tenant cannot use the whole process.
//
//   T1. A request waits in its key's queue while `concurrent` requests of this key run. If the queue is full, the
//       request is rejected at once.
//   T2. The rate is limited by a token bucket per key.
//   T3. A full bucket is removed, so idle keys use no memory.

export interface RateLimits {
  /** Maximum number of running requests per key. */
  readonly concurrent: number
  /** Maximum length of the queue per key. */
  readonly queued: number
  /** Refill rate of a bucket. */
  readonly perSecond: number
  /** Size of a bucket. */
  readonly burst: number
  /** Names the limited requests in the error message. */
  readonly unit: string
}

/** The caller may retry later; the server answers 429. */
export class RateLimited extends Error {}

export type RateLimiter = <Answer>(bucket: string, work: () => Promise<Answer>) => Promise<Answer>

interface Bucket {
  running: number
  readonly queue: (() => void)[]
  tokens: number
  filledAt: number
}

/** @param now milliseconds of a monotonic clock. */
export function createRateLimiter(
  { concurrent: atOnce, queued: waiting, perSecond, burst, unit: what }: RateLimits,
  now: () => number,
): RateLimiter {
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
      throw new RateLimited(`too many ${what}; expected at most ${perSecond} per second and ${atOnce} at the same time`)
    bucket.tokens -= 1
    if (bucket.running >= atOnce) await new Promise<void>((resolve) => bucket.queue.push(resolve))
    else bucket.running += 1
    try {
      return await work()
    } finally {
      // The next request in the queue takes over the slot.
      const next = bucket.queue.shift()
      if (next === undefined) bucket.running -= 1
      else next()
    }
  }
}

const MAX_BUCKETS = 1000
