// The kind FoundationDBCluster: a database, or the part of a database that runs in this Kubernetes cluster. Wire format:
// spec/foundationdb.md 1.1 to 1.3.

import { defineKind, type ObjectOf, path, required } from '../../kit/index.ts'
import { CLUSTER_KIND, GROUP, VERSION } from '../contract.ts'
import { specField } from './schema/spec.ts'
import { statusField } from './schema/status.ts'

export type { ClusterSpec } from './schema/spec.ts'
export type { ClusterStatus, ProcessGroupConditionStatus, ProcessGroupStatus } from './schema/status.ts'

export const clusterKind = defineKind({
  group: GROUP,
  version: VERSION,
  kind: CLUSTER_KIND,
  plural: 'foundationdbclusters',
  singular: 'foundationdbcluster',
  shortNames: ['fdb'],
  statusSubresource: true,
  printerColumns: [
    { name: 'Generation', type: 'integer', jsonPath: '.metadata.generation' },
    { name: 'Reconciled', type: 'integer', jsonPath: '.status.generations.reconciled' },
    { name: 'Available', type: 'boolean', jsonPath: '.status.health.available' },
    { name: 'FullReplication', type: 'boolean', jsonPath: '.status.health.fullReplication' },
    { name: 'ReconciledProcessGroups', type: 'integer', jsonPath: '.status.reconciledProcessGroups', priority: 1 },
    { name: 'DesiredProcessGroups', type: 'integer', jsonPath: '.status.desiredProcessGroups', priority: 1 },
    { name: 'Version', type: 'string', jsonPath: '.status.runningVersion' },
    { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
  ],
  description: 'A FoundationDBCluster is a FoundationDB database, or the part of one in this Kubernetes cluster.',
  schema: { spec: required(specField), status: statusField },
  projection: [
    ...[path('metadata.creationTimestamp'), path('spec.skip'), path('status.generations'), path('status.health')],
    ...[path('status.runningVersion'), path('status.configured')],
    ...[path('status.desiredProcessGroups'), path('status.reconciledProcessGroups')],
  ],
  hashed: [path('spec')],
  workerVerbs: [],
})

export type FoundationDBCluster = ObjectOf<typeof clusterKind>
