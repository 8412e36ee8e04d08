// The kinds of rbac.authorization.k8s.io/v1, for `bind rbac.authorization.k8s.io/v1 pawl/kit/rbac.authorization.k8s.io/v1`. Types only.

import type { V1ClusterRole, V1ClusterRoleBinding, V1Role, V1RoleBinding } from '@kubernetes/client-node'

import type { StoredClusterObject, StoredObject } from '../../stored-object.ts'

export type ClusterRole = StoredClusterObject<V1ClusterRole, 'rbac.authorization.k8s.io/v1', 'ClusterRole'>
export type ClusterRoleBinding = StoredClusterObject<
  V1ClusterRoleBinding,
  'rbac.authorization.k8s.io/v1',
  'ClusterRoleBinding'
>
export type Role = StoredObject<V1Role, 'rbac.authorization.k8s.io/v1', 'Role'>
export type RoleBinding = StoredObject<V1RoleBinding, 'rbac.authorization.k8s.io/v1', 'RoleBinding'>
