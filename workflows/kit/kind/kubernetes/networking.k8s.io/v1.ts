// The kinds of networking.k8s.io/v1, for `bind networking.k8s.io/v1 pawl/kit/networking.k8s.io/v1`. Types only.

import type { V1Ingress, V1IngressClass, V1NetworkPolicy } from '@kubernetes/client-node'

import type { StoredClusterObject, StoredObject } from '../../stored-object.ts'

export type Ingress = StoredObject<V1Ingress, 'networking.k8s.io/v1', 'Ingress'>
export type IngressClass = StoredClusterObject<V1IngressClass, 'networking.k8s.io/v1', 'IngressClass'>
export type NetworkPolicy = StoredObject<V1NetworkPolicy, 'networking.k8s.io/v1', 'NetworkPolicy'>
