// Kubernetes' own kinds of which the kit has types: documents name them without `bind` and `alias`. A test holds the list to the modules below
// kind/kubernetes/.

/** By group and version, as in `bind`. */
export const KUBERNETES_KINDS: Readonly<Record<string, string>> = {
  v1:
    'ConfigMap Endpoints Event LimitRange Namespace Node PersistentVolume PersistentVolumeClaim Pod PodTemplate ReplicationController ' +
    'ResourceQuota Secret Service ServiceAccount',
  'apps/v1': 'ControllerRevision DaemonSet Deployment ReplicaSet StatefulSet',
  'autoscaling/v2': 'HorizontalPodAutoscaler',
  'batch/v1': 'CronJob Job',
  'coordination.k8s.io/v1': 'Lease',
  'networking.k8s.io/v1': 'Ingress IngressClass NetworkPolicy',
  'policy/v1': 'PodDisruptionBudget',
  'rbac.authorization.k8s.io/v1': 'ClusterRole ClusterRoleBinding Role RoleBinding',
  'storage.k8s.io/v1': 'CSIDriver StorageClass VolumeAttachment',
}

/** The module with the type of the kind; undefined where the kit has none. */
export function kubernetesModule(groupVersion: string, kind: string): string | undefined {
  return kubernetesGroupVersion(kind) === groupVersion ? `pawl/kit/${groupVersion}` : undefined
}

/** The group and version of a kind by its name alone; no two have one name. */
export function kubernetesGroupVersion(kind: string): string | undefined {
  return Object.entries(KUBERNETES_KINDS).find(([, kinds]) => kinds.split(' ').includes(kind))?.[0]
}
