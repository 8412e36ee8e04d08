// Who asks: the API server reviews the token that comes with a question (TokenReview).
//
//   U1. Tokens are kept nowhere but as hashes, for a short time.
//   U2. All tokens that the API server has not known lately share a bound, so that whoever sends what is no token makes no flood of reviews. Each that
//       it has known lately has a bound of its own: its user is not held up by the others.
//   U3. What is kept of refused tokens takes no room from what is kept of others.

import { createHash } from 'node:crypto'

import type { KubeClient } from '../../activities/kube/client.ts'
import { createBriefCache } from './brief-cache.ts'
import { createRecentKeys } from './recent-keys.ts'
import { createTurns } from './turns.ts'

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

/** Whose the token is; undefined: nobody's. @throws when the API server does not say; TurnedAway when too many are to be reviewed. */
export type Users = (token: string) => Promise<User | undefined>

/** The API server has refused the token. */
class NobodysToken extends Error {}

const MOST_KEPT = 2000
const REFUSED_MS = 10_000
// With some 150 bytes each.
const MOST_REFUSED = 20_000
const KNOWN_MS = 3_600_000
const MOST_KNOWN = 20_000
const REVIEWS_AT_ONCE = 16
const MOST_WAITING = 64

export interface UserOptions {
  /** For one of which a token has to be; none: for the API server. */
  readonly audiences: readonly string[]
  /** How long a review holds. */
  readonly keptMs: number
  /** Of tokens that are not known, and of each one that is (U2). */
  readonly reviewsPerSecond: number
  /** Milliseconds of a steady clock. */
  readonly now: () => number
}

export function createUsers(
  kube: Pick<KubeClient, 'request'>,
  { audiences, keptMs, reviewsPerSecond: perSecond, now }: UserOptions,
): Users {
  const kept = createBriefCache<User>(keptMs, MOST_KEPT, now)
  const refused = createRecentKeys(REFUSED_MS, MOST_REFUSED, now)
  const known = createRecentKeys(KNOWN_MS, MOST_KNOWN, now)
  const limits = { atOnce: REVIEWS_AT_ONCE, waiting: MOST_WAITING, perSecond, burst: 3 * perSecond }
  const turns = createTurns({ ...limits, what: 'tokens that are not known yet' }, now)
  const review = async (token: string): Promise<User | undefined> => {
    const body = {
      apiVersion: 'authentication.k8s.io/v1',
      kind: 'TokenReview',
      spec: { token, ...(audiences.length > 0 && { audiences }) },
    }
    const { status } = await kube.request<TokenReview>('POST', '/apis/authentication.k8s.io/v1/tokenreviews', { body })
    const { username = '', uid, groups, extra } = status?.user ?? {}
    if (status?.authenticated !== true || username === '' || !isFor(audiences, status.audiences)) return undefined
    return { username, uid, groups, extra }
  }
  const ask = async (key: string, token: string): Promise<User> => {
    // U2
    const user = await turns(known.has(key) ? key : '', async () => await review(token))
    if (user === undefined) throw new NobodysToken('the API server does not know the token')
    known.add(key)
    return user
  }
  return async (token) => {
    // U1
    const key = createHash('sha256').update(token).digest('base64')
    if (refused.has(key)) return undefined
    try {
      return await kept.get(key, () => ask(key, token))
    } catch (error) {
      if (!(error instanceof NobodysToken)) throw error
      // U3
      refused.add(key)
      known.forget(key)
      return undefined
    }
  }
}

/** An API server that knows nothing of audiences answers without any, and has not looked. */
function isFor(wanted: readonly string[], found: readonly string[] = []): boolean {
  return wanted.length === 0 || found.some((one) => wanted.includes(one))
}

/** Whose share of the process a user takes: all accounts of a namespace have one, for who has one account there can make others. */
export function shareOf({ username }: User): string {
  return /^system:serviceaccount:[^:]+:/.exec(username)?.[0] ?? username
}
