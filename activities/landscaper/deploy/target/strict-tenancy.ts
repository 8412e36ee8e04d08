// Restricts Targets on a cluster with tenants (`--strict-tenancy`): a user who may create Installations can in effect write Targets, and a Target with
// `selfConfig` acts as a ServiceAccount. Source: docs/security.md "In the same namespace".
//
//   T1. A ServiceAccount is used only if its owner permits it with an annotation. Each opening checks it, so that a withdrawal takes effect at
//       once.
//   T2. A Target that an Installation exports never uses a ServiceAccount, whatever form its configuration has.

import type { KubeClient, KubeObject } from '../../../kube/client.ts'
import { resourcePath } from '../../../kube/resource-path.ts'
import { isNotFound } from '../../../kube/errors.ts'
import { SOURCE_TYPE_LABEL } from '../../../../workflows/landscaper/contract.ts'
import type { SelfConfig } from './target-config.ts'

/** On a ServiceAccount, with the value `true`. */
export const ALLOW_ANNOTATION = 'pawl.dev/allow-targets'

const serviceAccounts = { apiVersion: 'v1', plural: 'serviceaccounts' }

/**
 * The reason why the Target must not act as the account; undefined when it may, or when the account does not exist.
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
