// What a Disruption must be by the operators' configuration and by what stands in the cluster. Source: spec/chaos.md 2.10, 2.11.
//
//   A1. Nothing is read for what is refused without.
//   A2. Of one that is there only the count may change, so safety nets alone are asked again.
//   A3. Where a list of addresses cannot be had now, its services are not judged: the Disruption is taken with a warning, and asks again when it begins.

import type { AsyncRequest, ObjectReader, Problem } from '../../../workflows/kit/index.ts'
import type { Namespace } from '../../../workflows/kit/kind/kubernetes/v1.ts'
import { type ChaosConfig, recordedChaosNamespaceOf } from '../../../workflows/chaos/config.ts'
import { DISRUPTION_NAME_LABEL, DISRUPTION_NAMESPACE_LABEL } from '../../../workflows/chaos/contract.ts'
import { fieldsOf, textOf } from '../../../workflows/chaos/json-fields.ts'
import type { Disruption } from '../../../workflows/chaos/disruption/kind.ts'
import { filterProblems } from '../../../workflows/chaos/disruption/rules/network.ts'
import { namespaceView } from '../../../workflows/chaos/emergency-stop.ts'
import { finalizerProblems, policyProblems, stopProblems } from '../../../workflows/chaos/disruption/rules/policy.ts'
import { safetyNetProblems } from '../../../workflows/chaos/disruption/rules/safety-nets.ts'
import { namedServices, serviceProblems } from '../../../workflows/chaos/disruption/rules/services.ts'
import { resourcePath } from '../../kube/resource-path.ts'
import { type CloudHosts, type CloudServices, hasCloud } from '../../../workflows/chaos/cloud.ts'
import { populationFor } from './population.ts'

export interface DisruptionRules {
  readonly kube: ObjectReader
  readonly config: ChaosConfig
  /** What services of clouds stand for; `unknown`: nobody can say now, and why. */
  readonly cloudHosts: (services: CloudServices) => Promise<CloudHosts | { readonly unknown: string }>
  readonly now: () => number
}

export async function disruptionProblems(rules: DisruptionRules, request: AsyncRequest): Promise<readonly Problem[]> {
  // A2
  if (request.operation === 'UPDATE') return await netProblems(rules, request)
  const { object, user } = request
  const policy = policyProblems(rules.config, { object, groups: user.groups, nowMs: rules.now() })
  // A1
  if (policy.length > 0) return policy
  const found = await Promise.all([
    ...[stops(rules, request), services(rules, request), netProblems(rules, request)],
    cloudProblems(rules, request),
  ])
  return found.flat()
}

/** Whether the finalizer may go: a write that takes it off is the only one that costs a request. */
export async function metadataProblems(
  { kube, config }: Pick<DisruptionRules, 'kube' | 'config'>,
  { object, old, namespace, signal }: AsyncRequest,
): Promise<readonly Problem[]> {
  const mayBeOf = (chaosPods: readonly string[]) => finalizerProblems(old, object, chaosPods)
  if (mayBeOf(['any']).length === 0) return []
  const name = textOf(fieldsOf(fieldsOf(object)['metadata'])['name'])
  const labelSelector = `${DISRUPTION_NAME_LABEL}=${name},${DISRUPTION_NAMESPACE_LABEL}=${namespace}`
  const { chaosNamespace, originalSpec } = fieldsOf(fieldsOf(old)['status'])
  const told = textOf(chaosNamespace)
  const home = recordedChaosNamespaceOf(
    { ...(told !== '' && { chaosNamespace: told }), originalSpec },
    config.injector.chaosNamespace,
  )
  const query = { labelSelector, limit: String(MOST_NAMED + 1) }
  const list = await kube.get<{ items?: readonly { metadata: { name: string } }[] }>(
    resourcePath({ apiVersion: 'v1', plural: 'pods' }, home),
    { query, signal },
  )
  const names = (list?.items ?? []).map(({ metadata }) => metadata.name)
  return mayBeOf(names.length > MOST_NAMED ? [...names.slice(0, MOST_NAMED), '...'] : names)
}

const MOST_NAMED = 10

async function stops(
  { kube, config }: DisruptionRules,
  { namespace, signal }: AsyncRequest,
): Promise<readonly Problem[]> {
  const names = [...new Set([namespace, config.injector.chaosNamespace])]
  const found = await Promise.all(names.map((name) => kube.get<Namespace>(`/api/v1/namespaces/${name}`, { signal })))
  return stopProblems(found.flatMap((one) => (one === undefined ? [] : [namespaceView(one)])))
}

// A spec may name thousands.
const AT_ONCE = 20

async function services({ kube }: DisruptionRules, { object, signal }: AsyncRequest): Promise<readonly Problem[]> {
  const named = namedServices(fieldsOf(fieldsOf(object)['spec']))
  const problems: Problem[] = []
  for (let from = 0; from < named.length && problems.length === 0; from += AT_ONCE) {
    const found = await Promise.all(
      named.slice(from, from + AT_ONCE).map(async (one) => {
        const path = `/api/v1/namespaces/${encodeURIComponent(one.namespace)}/services/${encodeURIComponent(one.name)}`
        return serviceProblems(one, await kube.get(path, { signal }))
      }),
    )
    problems.push(...found.flat())
  }
  return problems
}

/** A3 */
async function cloudProblems({ cloudHosts }: DisruptionRules, { object }: AsyncRequest): Promise<readonly Problem[]> {
  const { network } = (object as Disruption).spec
  if (!hasCloud(network?.cloud)) return []
  const found = await cloudHosts(network?.cloud ?? {})
  if ('unknown' in found) return []
  if ('hosts' in found) return filterProblems(fieldsOf(network), 'spec.network', found.hosts.length)
  return [found.problem]
}

/** What a Disruption that is taken may lack when it is carried out. */
export async function cloudWarnings(
  { cloudHosts }: Pick<DisruptionRules, 'cloudHosts'>,
  { object, operation }: Pick<AsyncRequest, 'object' | 'operation'>,
): Promise<readonly string[]> {
  // A2
  if (operation === 'UPDATE') return []
  const cloud = (object as Disruption).spec.network?.cloud
  const found = hasCloud(cloud) ? await cloudHosts(cloud ?? {}) : undefined
  return found !== undefined && 'unknown' in found ? [`spec.network.cloud: ${found.unknown}`] : []
}

async function netProblems(
  { kube, config }: DisruptionRules,
  { object, namespace, signal }: AsyncRequest,
): Promise<readonly Problem[]> {
  const { safeMode, enableSafeguards, ownNodes = [] } = config.controller
  if (!safeMode.enable) return []
  const { spec } = object as Disruption
  const by = { kube, signal, ownNodes: new Set(enableSafeguards ? ownNodes : []) }
  return safetyNetProblems(spec, safeMode, await populationFor(by, spec, namespace))
}
