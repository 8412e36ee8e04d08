// How much there is to disturb, for the safety nets: counted by the API server where it can.
//
//   N1. A count of everything costs one object: the server says how many remain. It does not say so of what is selected, which is listed in chunks.
//   N2. What comes and goes meanwhile is not seen: it is advice to who creates a Disruption (docs/adr/0055).

import type { ObjectReader, ReadOptions } from '../../../workflows/kit/index.ts'
import { labelSelectorText } from '../../../workflows/kit/index.ts'
import type { Node, Pod } from '../../../workflows/kit/kind/kubernetes/v1.ts'
import type { DisruptionSpec } from '../../../workflows/chaos/disruption/kind.ts'
import { nodeView, podView, type Target } from '../../../workflows/chaos/disruption/observed.ts'
import type { Population } from '../../../workflows/chaos/disruption/rules/safety-nets.ts'
import { matchingTargets, requestedCount } from '../../../workflows/chaos/disruption/selection.ts'

type Signal = ReadOptions['signal']

interface List<One> {
  readonly metadata?: { readonly continue?: string; readonly remainingItemCount?: number }
  readonly items?: readonly One[]
}

const CHUNK = '500'
const [PODS, NODES] = ['/api/v1/pods', '/api/v1/nodes']

/** @param ownNodes of the controller, which are not disturbed; none without safeguards. */
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
    // A number is what it is, however many match by now.
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

interface Asked {
  readonly spec: DisruptionSpec
  readonly signal: Signal
  readonly ownNodes: ReadonlySet<string>
}

async function matchingOf(kube: ObjectReader, path: string, { spec, signal, ownNodes }: Asked): Promise<number> {
  const parts = [spec.selector ?? {}, spec.advancedSelector ?? []].map(labelSelectorText)
  const labelSelector = parts.filter((part) => part !== undefined).join(',')
  // What selects nothing is refused by other rules.
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
