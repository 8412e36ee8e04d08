// What a Target may lead to on a cluster with tenants (`--strict-tenancy`): whoever may create Installations writes Targets in effect, and a Target with `selfConfig`
// acts as a ServiceAccount. Source: docs/security.md "In the same namespace".
//
//   T1. A ServiceAccount is used only when whoever owns it has said so, by an annotation. It is asked for at each opening: what is taken back holds at once.
//   T2. A Target that an Installation exports leads to no ServiceAccount, whatever way it says so.

import type { KubeClient, KubeObject } from '../../../kube/client.ts'
import { resourcePath } from '../../../kube/resource-path.ts'
import { isNotFound } from '../../../kube/errors.ts'
import { SOURCE_TYPE_LABEL } from '../../../../workflows/landscaper/contract.ts'
import type { SelfConfig } from './target-config.ts'

/** On a ServiceAccount, with the value `true`. */
export const ALLOW_ANNOTATION = 'pawl.dev/allow-targets'

const serviceAccounts = { apiVersion: 'v1', plural: 'serviceaccounts' }

/**
 * Why the Target must not act as the account; undefined when it may, or when the account is not there.
 *
 * @throws failures of the API server.
 */
export async function selfRefusal(
  kube: KubeClient,
  { metadata: { namespace = '', labels } }: Pick<KubeObject, 'metadata'>,
  { serviceAccount }: SelfConfig,
  signal: AbortSignal | undefined,
): Promise<string | undefined> {
  if (labels?.[SOURCE_TYPE_LABEL] === 'export')
    return `found selfConfig in a target that an installation has exported; expected a kubeconfig, because of --strict-tenancy`
  try {
    const path = resourcePath(serviceAccounts, namespace, serviceAccount)
    const { metadata } = await kube.request<KubeObject>('GET', path, { signal })
    const found = metadata.annotations?.[ALLOW_ANNOTATION]
    if (found === 'true') return undefined
    const said = found === undefined ? 'without' : `with "${found}" in`
    return `found service account ${namespace}/${serviceAccount} ${said} the annotation ${ALLOW_ANNOTATION}; expected "true", because of --strict-tenancy`
  } catch (error) {
    if (isNotFound(error)) return undefined
    throw error
  }
}
