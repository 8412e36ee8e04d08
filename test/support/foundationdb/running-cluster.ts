// Clusters with which most scenarios begin.

import type { ClusterSpec } from '../../../workflows/foundationdb/cluster/kind.ts'
import { ClusterWorld } from './cluster-world.ts'

const LONG_UPTIME_SECONDS = 1000

/** The classes of `runningCluster`. */
export const COUNTS = { log: 2, stateless: 3, cluster_controller: 1 }

/** A reconciled cluster of 10 Pods, 4 of them with storage, whose processes have run for a long time. */
export async function runningCluster(
  spec: Partial<ClusterSpec> = {},
  nodeOf?: ClusterWorld['nodeOf'],
): Promise<ClusterWorld> {
  const world = new ClusterWorld({ databaseConfiguration: { storage: 4 }, processCounts: COUNTS, ...spec })
  if (nodeOf !== undefined) world.nodeOf = nodeOf
  await world.settle()
  world.advance(LONG_UPTIME_SECONDS)
  world.takeEffects()
  world.takePasses()
  return world
}

/** Four Nodes; a recreated Pod returns to its Node. */
export function fourNodes(): ClusterWorld['nodeOf'] {
  const nodes = new Map<string, string>()
  return (pod, count) => {
    const node = nodes.get(pod) ?? `node-${count % 4}`
    nodes.set(pod, node)
    return node
  }
}
