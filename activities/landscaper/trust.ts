// What this worker believes of the webhook's records (workflows/landscaper/steered-by.ts). Source: docs/adr/0054.
//
//   T1. Nothing, unless the operator says that the webhook was asked about all such writes: who could pass it by could write any record.
//   T2. What a run has written is told by the account that it has run with, which the API server knows.

import type { KubeClient } from '../kube/client.ts'
import type { Deps } from '../deps.ts'

export interface Trust {
  /** Recorded names are proven. */
  readonly isVouched: boolean
  /** The user that this worker is to the API server; undefined: that is not known. */
  readonly self?: string | undefined
}

export const NO_TRUST: Trust = { isVouched: false }

const SELF_REVIEWS = '/apis/authentication.k8s.io/v1/selfsubjectreviews'
const SELF_REVIEW = { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' }

interface SelfReview {
  readonly status?: { readonly userInfo?: { readonly username?: string } }
}

/** @param isVouched as the flag `--webhook-vouches` has it. */
export function createTrust(
  { kube, log }: { readonly kube: Pick<KubeClient, 'request'>; readonly log: Pick<Deps['log'], 'warn'> },
  isVouched: boolean,
): () => Promise<Trust> {
  let self: string | undefined
  return async () => {
    if (!isVouched) return NO_TRUST
    try {
      self ??= (await kube.request<SelfReview>('POST', SELF_REVIEWS, { body: SELF_REVIEW })).status?.userInfo?.username
    } catch (error) {
      log.warn({ err: error }, 'the worker does not know its own name; who has paused a parent is told as not verified')
    }
    return { isVouched, self }
  }
}
