// Connects to the engine's own cluster as a user's ServiceAccount: with a token of that account, never with the engine's own credentials.
// Source: spec/landscaper.md 4.6 "selfConfig".

import type { KubeClient, KubeObject } from '../../../kube/client.ts'
import { resourcePath } from '../../../kube/resource-path.ts'
import { isNotFound, KubeError } from '../../../kube/errors.ts'
import { isMap } from '../objects/readiness/field-reader.ts'
import { checkIssuedSize } from './answers.ts'
import type { ClusterAccess } from './kubeconfig.ts'
import type { SelfConfig } from './target-config.ts'
import { SOURCE_TYPE_LABEL } from '../../../../workflows/landscaper/contract.ts'

export interface SelfAccess {
  readonly access: ClusterAccess
  /** When a new token is due, in epoch milliseconds: after 80 % of this token's lifetime. */
  readonly renewAtMs: number
}

const serviceAccounts = { apiVersion: 'v1', plural: 'serviceaccounts' }
const RENEWAL_SHARE = 0.8
const REQUEST_TIMEOUT_MS = 10_000

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
    throw KubeError.unreachable('POST', path, 'the answer has no token, or no expiration time')
  checkIssuedSize('token', token)
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
  const { token, expiresAt } = await requestToken(kube, account, AbortSignal.timeout(REQUEST_TIMEOUT_MS))
  const lifeMs = Date.parse(expiresAt) - askedAtMs
  return { access: { ...kube.connection, credentials: { token } }, renewAtMs: askedAtMs + lifeMs * RENEWAL_SHARE }
}

// Restricts Targets on a cluster with tenants (`--strict-tenancy`): a user who may create Installations can in effect write Targets, and a Target with
// `selfConfig` acts as a ServiceAccount. Source: docs/concepts/security.md "In the same namespace".
//
//   T1. A ServiceAccount is used only if its owner permits it with an annotation. Each opening checks it, so that a withdrawal takes effect at
//       once.
//   T2. A Target that an Installation exports never uses a ServiceAccount, whatever form its configuration has.

/** On a ServiceAccount, with the value `true`. */
export const ALLOW_ANNOTATION = 'pawl.dev/allow-targets'

/**
 * The reason why the Target must not act as the account; undefined when it may, or when the account does not exist.
 *
 * @throws failures of the API server.
 */
export async function selfConfigProblem(
  kube: KubeClient,
  { metadata: { namespace = '', labels } }: Pick<KubeObject, 'metadata'>,
  { serviceAccount }: SelfConfig,
  signal: AbortSignal | undefined,
): Promise<string | undefined> {
  if (labels?.[SOURCE_TYPE_LABEL] === 'export')
    return 'spec.config: found selfConfig in an exported Target; expected a kubeconfig, because of --strict-tenancy'
  try {
    const path = resourcePath(serviceAccounts, namespace, serviceAccount)
    const { metadata } = await kube.request<KubeObject>('GET', path, { signal })
    const found = metadata.annotations?.[ALLOW_ANNOTATION]
    if (found === 'true') return undefined
    const account = `ServiceAccount "${namespace}/${serviceAccount}": annotation ${ALLOW_ANNOTATION}`
    return `${account}: found ${found === undefined ? 'nothing' : `"${found}"`}; expected "true", because of --strict-tenancy`
  } catch (error) {
    if (isNotFound(error)) return undefined
    throw error
  }
}
