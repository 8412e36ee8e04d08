// Authenticates users: the API server reviews the token of each request (TokenReview).
//
//   U1. Tokens are stored only as hashes, and only for a short time.
//   U2. All tokens that were not valid recently share one rate limit, so invalid tokens cannot cause a flood of
//       reviews. Each token that was valid recently has its own rate limit, so invalid tokens do not slow down known
//       users.
//   U3. Refused tokens are stored in their own set and never displace cached users.

import { createHash } from 'node:crypto'

import type { KubeClient } from '../../activities/kube/client.ts'
import { createExpiringCache, createExpiringSet } from './expiring-cache.ts'
import { createRateLimiter } from './rate-limiter.ts'

export interface User {
  readonly username: string
  readonly uid: string | undefined
  readonly groups: readonly string[] | undefined
  readonly extra: Readonly<Record<string, readonly string[]>> | undefined
}

interface TokenReview {
  readonly status?: {
    readonly authenticated?: boolean
    readonly user?: Partial<User>
    readonly audiences?: readonly string[]
  }
}

/**
 * The user of a token; undefined if the token is invalid. @throws KubeError if the review fails; RateLimited if there
 * are too many reviews.
 */
export type Users = (token: string) => Promise<User | undefined>

/** The API server refused the token. */
class UnknownToken extends Error {}

const MAX_CACHED = 2000
const REFUSED_MS = 10_000
// About 150 bytes each.
const MAX_REFUSED = 20_000
const KNOWN_MS = 3_600_000
const MAX_KNOWN = 20_000
const CONCURRENT_REVIEWS = 16
const MAX_QUEUED = 64

export interface UserOptions {
  /** Accepted audiences; empty for the API server's own audience. */
  readonly audiences: readonly string[]
  /** How long a review is cached. */
  readonly cachedMs: number
  /** Rate limit of reviews, for all unknown tokens together and for each known token (U2). */
  readonly reviewsPerSecond: number
  /** Milliseconds of a monotonic clock. */
  readonly now: () => number
}

export function createUsers(
  kube: Pick<KubeClient, 'request'>,
  { audiences, cachedMs: keptMs, reviewsPerSecond: perSecond, now }: UserOptions,
): Users {
  const cache = createExpiringCache<User>(keptMs, MAX_CACHED, now)
  const refused = createExpiringSet(REFUSED_MS, MAX_REFUSED, now)
  const known = createExpiringSet(KNOWN_MS, MAX_KNOWN, now)
  const limits = { concurrent: CONCURRENT_REVIEWS, queued: MAX_QUEUED, perSecond, burst: 3 * perSecond }
  const limiter = createRateLimiter({ ...limits, unit: 'new tokens' }, now)
  const review = async (token: string): Promise<User | undefined> => {
    const body = {
      apiVersion: 'authentication.k8s.io/v1',
      kind: 'TokenReview',
      spec: { token, ...(audiences.length > 0 && { audiences }) },
    }
    const { status } = await kube.request<TokenReview>('POST', '/apis/authentication.k8s.io/v1/tokenreviews', { body })
    const { username = '', uid, groups, extra } = status?.user ?? {}
    if (status?.authenticated !== true || username === '' || !hasAudience(audiences, status.audiences)) return undefined
    return { username, uid, groups, extra }
  }
  const reviewWithinLimit = async (key: string, token: string): Promise<User> => {
    // U2
    const user = await limiter(known.has(key) ? key : '', async () => await review(token))
    if (user === undefined) throw new UnknownToken('the API server rejects the token; it may have expired')
    known.add(key)
    return user
  }
  return async (token) => {
    // U1
    const key = createHash('sha256').update(token).digest('base64')
    if (refused.has(key)) return undefined
    try {
      return await cache.get(key, () => reviewWithinLimit(key, token))
    } catch (error) {
      if (!(error instanceof UnknownToken)) throw error
      // U3
      refused.add(key)
      known.forget(key)
      return undefined
    }
  }
}

/** An API server without support for audiences returns none, and did not check them. */
function hasAudience(wanted: readonly string[], found: readonly string[] = []): boolean {
  return wanted.length === 0 || found.some((one) => wanted.includes(one))
}

/**
 * The key of the user's rate limit. All ServiceAccounts of a namespace share one key: a user with one of these accounts
 * can often create more.
 */
export function rateLimitKey({ username }: User): string {
  return /^system:serviceaccount:[^:]+:/.exec(username)?.[0] ?? username
}
