// The kinds of apps/v1, for `bind apps/v1 pawl/kit/apps/v1`. Types only.

import type {
  V1ControllerRevision,
  V1DaemonSet,
  V1Deployment,
  V1ReplicaSet,
  V1StatefulSet,
} from '@kubernetes/client-node'

import type { StoredObject } from '../../stored-object.ts'

export type ControllerRevision = StoredObject<V1ControllerRevision, 'apps/v1', 'ControllerRevision'>
export type DaemonSet = StoredObject<V1DaemonSet, 'apps/v1', 'DaemonSet'>
export type Deployment = StoredObject<V1Deployment, 'apps/v1', 'Deployment'>
export type ReplicaSet = StoredObject<V1ReplicaSet, 'apps/v1', 'ReplicaSet'>
export type StatefulSet = StoredObject<V1StatefulSet, 'apps/v1', 'StatefulSet'>
