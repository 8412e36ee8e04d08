// Admission rules for Disruptions that need the configuration or the cluster. Source: spec/chaos.md 2.10, 2.11.
//
// A1. A request that the configuration rejects causes no reads.
// A2. An update can only change the count, so only the safety nets are checked again.
// A3. If a cloud's list is unavailable, its services are not checked: the Disruption is admitted with a warning and
//   resolves them when it begins.

import {
  type AsyncRequest,
  type ObjectReader,
  type Problem,
  type ReadOptions,
  labelSelectorText,
} from '../../../workflows/kit/index.ts'
import type { Namespace, Node, Pod } from '../../../workflows/kit/kind/kubernetes/v1.ts'
import { type ChaosConfig, recordedChaosNamespaceOf } from '../../../workflows/chaos/config.ts'
import { DISRUPTION_NAME_LABEL, DISRUPTION_NAMESPACE_LABEL } from '../../../workflows/chaos/contract.ts'
import { fieldsOf, textOf } from '../../../workflows/chaos/json-fields.ts'
import type { Disruption, DisruptionSpec } from '../../../workflows/chaos/disruption/kind.ts'
import { filterProblems } from '../../../workflows/chaos/disruption/rules/network.ts'
import { namespaceView } from '../../../workflows/chaos/emergency-stop.ts'
import { finalizerProblems, policyProblems, stopProblems } from '../../../workflows/chaos/disruption/rules/policy.ts'
import { safetyNetProblems, type Population } from '../../../workflows/chaos/disruption/rules/safety-nets.ts'
import { namedServices, serviceProblems } from '../../../workflows/chaos/disruption/rules/services.ts'
import { resourcePath } from '../../kube/resource-path.ts'
import { type CloudHosts, type CloudServices, hasCloud } from '../../../workflows/chaos/cloud.ts'
import { nodeView, podView, type Target } from '../../../workflows/chaos/disruption/observed.ts'
import { matchingTargets, requestedCount } from '../../../workflows/chaos/disruption/selection.ts'

export interface DisruptionRules {
  readonly kube: ObjectReader
  readonly config: ChaosConfig
  /** Resolves cloud services; `unknown` is the reason why the list is unavailable. */
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

/** Whether the finalizer may be removed; only a write that removes it costs a request. */
export async function metadataProblems(
  { kube, config }: Pick<DisruptionRules, 'kube' | 'config'>,
  { object, old, namespace, signal }: AsyncRequest,
): Promise<readonly Problem[]> {
  const mayBeOf = (chaosPods: readonly string[]) => finalizerProblems(old, object, chaosPods)
  if (mayBeOf(['any']).length === 0) return []
  const name = textOf(fieldsOf(fieldsOf(object)['metadata'])['name'])
  const labelSelector = `${DISRUPTION_NAME_LABEL}=${name},${DISRUPTION_NAMESPACE_LABEL}=${namespace}`
  const { chaosNamespace, originalSpec } = fieldsOf(fieldsOf(old)['status'])
  const recordedNamespace = textOf(chaosNamespace)
  const chaosPodNamespace = recordedChaosNamespaceOf(
    { ...(recordedNamespace !== '' && { chaosNamespace: recordedNamespace }), originalSpec },
    config.injector.chaosNamespace,
  )
  const query = { labelSelector, limit: String(MAX_NAMED + 1) }
  const list = await kube.get<{ items?: readonly { metadata: { name: string } }[] }>(
    resourcePath({ apiVersion: 'v1', plural: 'pods' }, chaosPodNamespace),
    { query, signal },
  )
  const names = (list?.items ?? []).map(({ metadata }) => metadata.name)
  return mayBeOf(names.length > MAX_NAMED ? [...names.slice(0, MAX_NAMED), '...'] : names)
}

const MAX_NAMED = 10

async function stops(
  { kube, config }: DisruptionRules,
  { namespace, signal }: AsyncRequest,
): Promise<readonly Problem[]> {
  const names = [...new Set([namespace, config.injector.chaosNamespace])]
  const found = await Promise.all(names.map((name) => kube.get<Namespace>(`/api/v1/namespaces/${name}`, { signal })))
  return stopProblems(
    found.flatMap((one) => (one === undefined ? [] : [namespaceView(one)])),
    namespace,
  )
}

// A spec may name thousands of Services.
const PARALLEL_READS = 20

async function services({ kube }: DisruptionRules, { object, signal }: AsyncRequest): Promise<readonly Problem[]> {
  const named = namedServices(fieldsOf(fieldsOf(object)['spec']))
  const problems: Problem[] = []
  for (let from = 0; from < named.length && problems.length === 0; from += PARALLEL_READS) {
    const found = await Promise.all(
      named.slice(from, from + PARALLEL_READS).map(async (one) => {
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

/** Warnings about an admitted Disruption that may lack addresses later. */
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

type Signal = ReadOptions['signal']

interface List<One> {
  readonly metadata?: { readonly continue?: string; readonly remainingItemCount?: number }
  readonly items?: readonly One[]
}

const CHUNK = '500'
const [PODS, NODES] = ['/api/v1/pods', '/api/v1/nodes']

/** @param ownNodes the nodes of the controller, which are not disturbed; empty without safeguards. */
export async function populationFor(
  {
    kube,
    signal,
    ownNodes,
  }: { readonly kube: ObjectReader; readonly signal: Signal; readonly ownNodes: ReadonlySet<string> },
  spec: DisruptionSpec,
  namespace: string,
): Promise<Population> {
  const isOfNodes = spec.level === 'node'
  const home = `/api/v1/namespaces/${namespace}/pods`
  const [inNamespace, inCluster, matching] = await Promise.all([
    isOfNodes ? undefined : countOf(kube, home, signal),
    countOf(kube, isOfNodes ? NODES : PODS, signal),
    // An absolute count does not depend on the number of matching objects.
    typeof spec.count === 'number' ? 0 : matchingOf(kube, isOfNodes ? NODES : home, { spec, signal, ownNodes }),
  ])
  return { targets: requestedCount(spec.count, matching), inNamespace, inCluster }
}

/** N1 */
async function countOf(kube: ObjectReader, path: string, signal: Signal): Promise<number> {
  const { metadata = {}, items = [] } = (await kube.get<List<object>>(path, options({ limit: '1' }, signal))) ?? {}
  if (metadata.remainingItemCount !== undefined) return items.length + metadata.remainingItemCount
  if (metadata.continue === undefined || metadata.continue === '') return items.length
  return (await listed<object>(kube, path, {}, signal)).length
}

interface MatchRequest {
  readonly spec: DisruptionSpec
  readonly signal: Signal
  readonly ownNodes: ReadonlySet<string>
}

async function matchingOf(kube: ObjectReader, path: string, { spec, signal, ownNodes }: MatchRequest): Promise<number> {
  const parts = [spec.selector ?? {}, spec.advancedSelector ?? []].map(labelSelectorText)
  const labelSelector = parts.filter((part) => part !== undefined).join(',')
  // Other rules reject an empty selector.
  if (labelSelector === '') return 0
  const found: readonly Target[] =
    path === NODES
      ? (await listed<Node>(kube, path, { labelSelector }, signal)).map(nodeView)
      : (await listed<Pod>(kube, path, { labelSelector }, signal)).map(podView)
  return matchingTargets(found, spec, { current: new Set(), ownNodes }).length
}

async function listed<One>(
  kube: ObjectReader,
  path: string,
  query: Readonly<Record<string, string>>,
  signal: Signal,
): Promise<readonly One[]> {
  const all: One[] = []
  for (let next = ''; ;) {
    const chunk = { ...query, limit: CHUNK, ...(next !== '' && { continue: next }) }
    const { metadata = {}, items = [] } = (await kube.get<List<One>>(path, options(chunk, signal))) ?? {}
    all.push(...items)
    next = metadata.continue ?? ''
    if (next === '') return all
  }
}

function options(query: Readonly<Record<string, string>>, signal: Signal): ReadOptions {
  return { query, ...(signal !== undefined && { signal }) }
}
