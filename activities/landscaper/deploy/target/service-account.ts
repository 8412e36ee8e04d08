// Connects to the engine's own cluster as a user's ServiceAccount: with a token of that account, never with the engine's own credentials.
// Source: spec/landscaper.md 4.6 "selfConfig".

import type { KubeClient } from '../../../kube/client.ts'
import { resourcePath } from '../../../kube/resource-path.ts'
import { KubeError } from '../../../kube/errors.ts'
import { isMap } from '../objects/readiness/field-reader.ts'
import { refuseLarge } from './issued-size.ts'
import type { ClusterAccess } from './kubeconfig.ts'
import type { SelfConfig } from './target-config.ts'

export interface SelfAccess {
  readonly access: ClusterAccess
  /** When a new token is due, in epoch milliseconds: after 80 % of this token's lifetime. */
  readonly renewAtMs: number
}

const serviceAccounts = { apiVersion: 'v1', plural: 'serviceaccounts' }
const LIFE_SHARE = 0.8
const LONGEST_REQUEST_MS = 10_000

export interface Account {
  readonly namespace: string
  readonly name: string
  readonly expirationSeconds: number
}

export interface IssuedToken {
  readonly token: string
  /** RFC 3339; the server may grant another time than requested. */
  readonly expiresAt: string
}

/** Requests a token of an account. @throws KubeError; 404 when the account does not exist; DeployError when the token is too large. */
export async function requestToken(
  kube: Pick<KubeClient, 'request'>,
  { namespace, name, expirationSeconds }: Account,
  signal: AbortSignal,
): Promise<IssuedToken> {
  const body = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: { expirationSeconds } }
  const path = resourcePath(serviceAccounts, namespace, name, 'token')
  const { status } = await kube.request<{ readonly status?: unknown }>('POST', path, { body, signal })
  const { token, expirationTimestamp } = isMap(status) ? status : {}
  const isTimed = typeof expirationTimestamp === 'string' && !Number.isNaN(Date.parse(expirationTimestamp))
  // Without a token, requests would be anonymous; an invalid one could not be sent.
  if (typeof token !== 'string' || !/^[\x21-\x7e]+$/.test(token) || !isTimed)
    throw KubeError.unreachable('POST', path, 'the answer has no token, or not until when it is valid')
  refuseLarge('token', token)
  return { token, expiresAt: new Date(expirationTimestamp).toISOString() }
}

/** @throws KubeError of the engine's own API server; 404 when the account does not exist. */
export async function requestSelfAccess(
  { kube, now }: { readonly kube: KubeClient; readonly now: () => Date },
  namespace: string,
  { serviceAccount, expirationSeconds }: SelfConfig,
): Promise<SelfAccess> {
  const askedAtMs = now().getTime()
  const account = { namespace, name: serviceAccount, expirationSeconds }
  const { token, expiresAt } = await requestToken(kube, account, AbortSignal.timeout(LONGEST_REQUEST_MS))
  const lifeMs = Date.parse(expiresAt) - askedAtMs
  return { access: { ...kube.connection, credentials: { token } }, renewAtMs: askedAtMs + lifeMs * LIFE_SHARE }
}
