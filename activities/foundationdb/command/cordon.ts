// `pawl fdb cordon`: removes all process groups whose Pods run on the named Nodes.

import { type CommandDone, type CommandStart, CommandUsageError } from '../../command.ts'
import { readPages } from '../../kube/pages.ts'
import { resourcePath } from '../../kube/resource-path.ts'
import type { FoundationDBCluster } from '../../../workflows/foundationdb/cluster/kind.ts'
import { CLUSTER_OPTION, type Kube, listClusters, readCluster } from './clusters.ts'
import { processGroupsOf } from './process-groups.ts'
import { processGroupIDOf, readPods } from './pods.ts'
import { removeAfterQuestion, type Removal } from './removal.ts'

export async function run(start: CommandStart): Promise<CommandDone> {
  const { kube, namespace, given } = start
  const name = given[CLUSTER_OPTION]
  const nodes = await nodesOf(start)
  const clusters =
    typeof name === 'string' ? [await readCluster(kube, namespace, name)] : await listClusters(kube, namespace)
  const found: (Removal & { readonly usedNodes: readonly string[] })[] = []
  for (const cluster of clusters) found.push(await removalIn(kube, cluster, nodes))
  const removals = found.filter(({ groups }) => groups.length > 0)
  const unused = nodes.filter((node) => !found.some(({ usedNodes }) => usedNodes.includes(node)))
  const note = unused.length === 0 ? [] : [`no process group runs on ${unused.join(', ')}`]
  if (removals.length === 0)
    return { lines: [`nothing to remove: ${note.join('')}`], data: { removals: [] }, exitCode: 0 }
  const done = await removeAfterQuestion(start, removals)
  const next = `new Pods can be scheduled on the same Nodes; to prevent that, run: kubectl cordon ${nodes.join(' ')}`
  return { ...done, lines: [...done.lines, ...note, ...(done.exitCode === 0 ? [next] : [])] }
}

async function nodesOf({ kube, words, given }: CommandStart): Promise<readonly string[]> {
  const selector = given['node-selector']
  if ((selector === undefined) === (words.length === 0))
    throw new CommandUsageError(
      `cordon: found ${words.length} Nodes${selector === undefined ? '' : ' and --node-selector'}; expected names of Nodes or --node-selector`,
    )
  if (typeof selector !== 'string') return [...new Set(words)]
  const names: string[] = []
  const path = resourcePath({ apiVersion: 'v1', plural: 'nodes' }, undefined)
  for await (const { items } of readPages(kube, path, { query: { labelSelector: selector }, limit: undefined }))
    names.push(...items.map(({ metadata }) => metadata.name))
  if (names.length === 0) throw new Error(`--node-selector: no Node has the labels "${selector}"; check them`)
  return names
}

async function removalIn(kube: Kube, cluster: FoundationDBCluster, nodes: readonly string[]) {
  const pods = await readPods(kube, cluster)
  const onNodes = pods.filter(({ spec }) => nodes.includes(spec?.nodeName ?? ''))
  const ids = new Set(onNodes.map((pod) => processGroupIDOf(cluster, pod)))
  return {
    cluster,
    groups: processGroupsOf(cluster).filter(({ processGroupID }) => ids.has(processGroupID)),
    hasExclusion: true,
    usedNodes: onNodes.flatMap(({ spec }) => spec?.nodeName ?? []),
  }
}
