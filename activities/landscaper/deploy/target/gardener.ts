// Requests to a Gardener: the Shoots of a project, the existence of a Shoot, and kubeconfigs for Shoots. Any API server that serves these resources
// works.
// Source: spec/landscaper.md 1.9, 3.7.

import type { KubeClient } from '../../../kube/client.ts'
import { resourcePath } from '../../../kube/resource-path.ts'
import { isNotFound, KubeError } from '../../../kube/errors.ts'
import { isMap } from '../objects/readiness/field-reader.ts'
import { checkIssuedSize } from './answers.ts'

export const shootResource = { apiVersion: 'core.gardener.cloud/v1beta1', plural: 'shoots' }

export interface ShootAccess {
  readonly kubeconfig: string
  /** RFC 3339. */
  readonly expiresAt: string
}

/** A kubeconfig for an administrator of the Shoot. @throws KubeError, DeployError of the client */
export async function requestShootAccess(
  kube: Pick<KubeClient, 'request'>,
  { namespace, name, expirationSeconds }: { namespace: string; name: string; expirationSeconds: number },
  signal: AbortSignal,
): Promise<ShootAccess> {
  const path = resourcePath(shootResource, namespace, name, 'adminkubeconfig')
  const body = {
    apiVersion: 'authentication.gardener.cloud/v1alpha1',
    kind: 'AdminKubeconfigRequest',
    spec: { expirationSeconds },
  }
  const { status } = await kube.request<{ readonly status?: unknown }>('POST', path, { body, signal })
  const { kubeconfig, expirationTimestamp } = isMap(status) ? status : {}
  const text = typeof kubeconfig === 'string' ? Buffer.from(kubeconfig, 'base64').toString('utf8') : ''
  const isTimed = typeof expirationTimestamp === 'string' && !Number.isNaN(Date.parse(expirationTimestamp))
  if (text === '' || !isTimed)
    throw KubeError.unreachable('POST', path, 'the answer has no kubeconfig, or no expiration time')
  checkIssuedSize('kubeconfig', text)
  return { kubeconfig: text, expiresAt: new Date(expirationTimestamp).toISOString() }
}

/**
 * Whether the project has the Shoot. Only a 404 for that very object proves that it does not: an API that does not answer, or is not served, proves
 * nothing.
 *
 * @throws KubeError, DeployError of the client
 */
export async function isShootThere(
  kube: Pick<KubeClient, 'request'>,
  { namespace, name }: { namespace: string; name: string },
  signal: AbortSignal,
): Promise<boolean> {
  const path = resourcePath(shootResource, namespace, name)
  try {
    const { metadata } = await kube.request<{ readonly metadata?: unknown }>('GET', path, { signal })
    if (isMap(metadata) && metadata['name'] === name) return true
  } catch (error) {
    if (!isNotFound(error)) throw error
    const { missing } = error
    if (missing?.kind === shootResource.plural && missing.name === name) return false
    throw error
  }
  throw KubeError.unreachable('GET', path, 'the answer is not a Shoot')
}
