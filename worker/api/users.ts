// Who asks: the API server reviews the token that comes with a question (TokenReview). Tokens are kept nowhere but as hashes, for a short time.

import { createHash } from 'node:crypto'

import type { KubeClient } from '../../activities/kube/client.ts'
import { createBriefCache } from './brief-cache.ts'

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

/** Whose the token is; undefined: nobody's. @throws when the API server does not say. */
export type Users = (token: string) => Promise<User | undefined>

const MOST_KEPT = 2000

/** @param audiences for one of which a token has to be; none: for the API server. */
export function createUsers(
  kube: Pick<KubeClient, 'request'>,
  {
    audiences,
    keptMs,
    now,
  }: { readonly audiences: readonly string[]; readonly keptMs: number; readonly now: () => number },
): Users {
  const kept = createBriefCache<User | undefined>(keptMs, MOST_KEPT, now)
  const review = async (token: string): Promise<User | undefined> => {
    const body = {
      ...{ apiVersion: 'authentication.k8s.io/v1', kind: 'TokenReview' },
      spec: { token, ...(audiences.length > 0 && { audiences }) },
    }
    const { status } = await kube.request<TokenReview>('POST', '/apis/authentication.k8s.io/v1/tokenreviews', { body })
    const { username = '', uid, groups, extra } = status?.user ?? {}
    if (status?.authenticated !== true || username === '' || !isFor(audiences, status.audiences)) return undefined
    return { username, uid, groups, extra }
  }
  return async (token) => await kept.get(createHash('sha256').update(token).digest('base64'), () => review(token))
}

/** An API server that knows nothing of audiences answers without any, and has not looked. */
function isFor(wanted: readonly string[], found: readonly string[] = []): boolean {
  return wanted.length === 0 || found.some((one) => wanted.includes(one))
}

/** Whose share of the process a user takes: all accounts of a namespace have one, for who has one account there can make others. */
export function shareOf({ username }: User): string {
  return /^system:serviceaccount:[^:]+:/.exec(username)?.[0] ?? username
}
