// The controller of FoundationDBClusters in level mode, as one value. Source: seeds/foundationdb-operator-technical-design.txt; spec/foundationdb.md 2.

import { declareLevel } from '../../kit/index.ts'
import { CLUSTER_EVENT_SOURCE } from '../contract.ts'
import { databaseCalls } from './database-calls.ts'
import { explainCluster } from './explain.ts'
import { clusterKind, type FoundationDBCluster } from './kind.ts'
import { type ClusterState, clusterQueries } from './pass.ts'

export const clusterDeclaration = declareLevel<ClusterState, FoundationDBCluster>({
  name: 'fdbcluster',
  target: clusterKind,
  queries: clusterQueries,
  eventSource: CLUSTER_EVENT_SOURCE,
  // Only workers with this wing poll the queue: others lack the tools.
  settings: { queue: 'foundationdb', events: 'along' },
  explain: explainCluster,
  activities: databaseCalls,
  writes: ['v1/ConfigMap', 'v1/Service', 'v1/PersistentVolumeClaim', 'v1/Pod'],
  loadPlans: async () => (await import('./plan.ts')).clusterPlans,
})
