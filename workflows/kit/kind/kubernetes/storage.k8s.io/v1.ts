// The kinds of storage.k8s.io/v1, for `bind storage.k8s.io/v1 pawl/kit/storage.k8s.io/v1`. Types only.

import type { V1CSIDriver, V1StorageClass, V1VolumeAttachment } from '@kubernetes/client-node'

import type { StoredClusterObject } from '../../stored-object.ts'

export type CSIDriver = StoredClusterObject<V1CSIDriver, 'storage.k8s.io/v1', 'CSIDriver'>
export type StorageClass = StoredClusterObject<V1StorageClass, 'storage.k8s.io/v1', 'StorageClass'>
export type VolumeAttachment = StoredClusterObject<V1VolumeAttachment, 'storage.k8s.io/v1', 'VolumeAttachment'>
