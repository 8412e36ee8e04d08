// The kinds of Kubernetes' core group, for `bind v1 pawl/kit/v1`. Types only.

import type {
  V1ConfigMap,
  V1Endpoints,
  CoreV1Event,
  V1LimitRange,
  V1Namespace,
  V1Node,
  V1PersistentVolume,
  V1PersistentVolumeClaim,
  V1Pod,
  V1PodTemplate,
  V1ReplicationController,
  V1ResourceQuota,
  V1Secret,
  V1Service,
  V1ServiceAccount,
} from '@kubernetes/client-node'

import type { StoredClusterObject, StoredObject } from '../stored-object.ts'

export type ConfigMap = StoredObject<V1ConfigMap, 'v1', 'ConfigMap'>
export type Endpoints = StoredObject<V1Endpoints, 'v1', 'Endpoints'>
export type Event = StoredObject<CoreV1Event, 'v1', 'Event'>
export type LimitRange = StoredObject<V1LimitRange, 'v1', 'LimitRange'>
export type Namespace = StoredClusterObject<V1Namespace, 'v1', 'Namespace'>
export type Node = StoredClusterObject<V1Node, 'v1', 'Node'>
export type PersistentVolume = StoredClusterObject<V1PersistentVolume, 'v1', 'PersistentVolume'>
export type PersistentVolumeClaim = StoredObject<V1PersistentVolumeClaim, 'v1', 'PersistentVolumeClaim'>
export type Pod = StoredObject<V1Pod, 'v1', 'Pod'>
export type PodTemplate = StoredObject<V1PodTemplate, 'v1', 'PodTemplate'>
export type ReplicationController = StoredObject<V1ReplicationController, 'v1', 'ReplicationController'>
export type ResourceQuota = StoredObject<V1ResourceQuota, 'v1', 'ResourceQuota'>
export type Secret = StoredObject<V1Secret, 'v1', 'Secret'>
export type Service = StoredObject<V1Service, 'v1', 'Service'>
export type ServiceAccount = StoredObject<V1ServiceAccount, 'v1', 'ServiceAccount'>
