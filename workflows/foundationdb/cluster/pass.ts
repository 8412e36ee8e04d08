// The pass over a FoundationDBCluster, and the objects that it observes.

import type { JsonObject, LevelPass, StateQuery } from '../../kit/index.ts'
import type { FoundationDBCluster } from './kind.ts'
import {
  claimView,
  type ObservedClaim,
  type ObservedConfigMap,
  type ObservedPod,
  type ObservedService,
  podView,
  serviceView,
  type TaintedNode,
  taintedNodeView,
} from './observed.ts'

export interface ClusterState {
  readonly pods: readonly ObservedPod[]
  readonly claims: readonly ObservedClaim[]
  readonly services: readonly ObservedService[]
  readonly configMap: ObservedConfigMap | undefined
  /** Pods with all fields; read only for an update in place. */
  readonly wholePods: readonly JsonObject[]
  /** Read only for clusters with options for taints. */
  readonly nodes: readonly TaintedNode[]
}

export type ClusterPass = LevelPass<ClusterState, FoundationDBCluster>

export const clusterQueries: Readonly<Record<keyof ClusterState, StateQuery>> = {
  pods: { kind: 'v1/Pod', many: true, owned: true, view: podView },
  claims: { kind: 'v1/PersistentVolumeClaim', many: true, owned: true, view: claimView },
  services: { kind: 'v1/Service', many: true, owned: true, view: serviceView },
  configMap: { kind: 'v1/ConfigMap', name: '${target.metadata.name}-config', owned: true },
  wholePods: { kind: 'v1/Pod', many: true, owned: true, lazy: true, quiet: true },
  nodes: { kind: 'v1/Node', many: true, lazy: true, quiet: true, view: taintedNodeView },
}
