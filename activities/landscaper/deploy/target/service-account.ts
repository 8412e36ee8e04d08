// The engine's own cluster as a ServiceAccount of a user sees it: with a token of that account, never with the engine's own credentials.
// Source: spec/landscaper.md 4.6 "selfConfig".

import { type KubeClient, resourcePath } from '../../../kube/client.ts'
import type { ClusterAccess } from './kubeconfig.ts'
import type { SelfConfig } from './target-config.ts'

export interface SelfAccess {
  readonly access: ClusterAccess
  /** When a new token is due, in epoch milliseconds: after 80 % of this one's life. */
  readonly renewAtMs: number
}

const serviceAccounts = { apiVersion: 'v1', plural: 'serviceaccounts' }
const LIFE_SHARE = 0.8
const LONGEST_REQUEST_MS = 10_000

interface TokenRequest {
  readonly status?: { readonly token?: string; readonly expirationTimestamp?: string }
}

/** @throws KubeError of the engine's own API server; 404 when the account is not there. */
export async function requestSelfAccess(
  { kube, now }: { readonly kube: KubeClient; readonly now: () => Date },
  namespace: string,
  { serviceAccount, expirationSeconds }: SelfConfig,
): Promise<SelfAccess> {
  const body = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: { expirationSeconds } }
  const path = resourcePath(serviceAccounts, namespace, serviceAccount, 'token')
  const signal = AbortSignal.timeout(LONGEST_REQUEST_MS)
  const askedAtMs = now().getTime()
  const { status = {} } = await kube.request<TokenRequest>('POST', path, { body, signal })
  const { token = '', expirationTimestamp = '' } = status
  // Without a token, requests would be anonymous ones.
  if (token === '') throw new Error(`POST ${path} returned no token`)
  const expiresAtMs = Date.parse(expirationTimestamp)
  const lifeMs = Number.isNaN(expiresAtMs) ? expirationSeconds * 1000 : expiresAtMs - askedAtMs
  return { access: { ...kube.connection, credentials: { token } }, renewAtMs: askedAtMs + lifeMs * LIFE_SHARE }
}
