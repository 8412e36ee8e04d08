// Facts about kinds for the checks: fields from schemas that the caller reads, and Kubernetes' own kinds, which documents use without `bind` and
// `alias`.
// A test compares the list with the modules in kind/kubernetes/.

/** The type at a path: text, other, any (an open schema), or unknown (no schema). */
export type FieldSort = 'text' | 'other' | 'anything' | 'unknown'

export interface KindFacts {
  /** Undefined when the kind has no such field. The path starts with a field other than `metadata`. */
  readonly fieldAt: (path: readonly string[]) => FieldSort | undefined
  /** Names of the fields below a path, for suggestions. */
  readonly namesBelow: (path: readonly string[]) => readonly string[]
  /** Fields beyond metadata for field selectors of the API server, such as `spec.nodeName`. */
  readonly selectableFields: readonly string[]
  readonly isNamespaced: boolean
}

export interface KindName {
  /** Group and version; the version alone for Kubernetes' core group. */
  readonly groupVersion: string
  readonly kind: string
}

/** The facts of a kind; undefined when unknown. */
export type KindLookup = (kind: KindName) => KindFacts | undefined

/** Fields of metadata, common to all kinds. */
const METADATA: Readonly<Record<string, FieldSort>> = {
  name: 'text',
  generateName: 'text',
  namespace: 'text',
  uid: 'text',
  resourceVersion: 'text',
  creationTimestamp: 'text',
  deletionTimestamp: 'text',
  generation: 'other',
  labels: 'other',
  annotations: 'other',
  finalizers: 'other',
  ownerReferences: 'other',
}

export function metadataFieldAt([name = '', ...rest]: readonly string[]): FieldSort | undefined {
  if (rest.length === 0) return Object.hasOwn(METADATA, name) ? METADATA[name] : undefined
  return ['labels', 'annotations'].includes(name) && rest.length === 1 ? 'text' : undefined
}

const LABEL_KEY = /^(?:[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?\/)?[A-Za-z0-9](?:[A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$/

/** Whether the key is valid for labels and annotations. */
export function isLabelKey(key: string): boolean {
  return LABEL_KEY.test(key)
}

export const metadataNames: readonly string[] = Object.keys(METADATA)

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

/** The module with the type of the kind; undefined if the kit has none. */
export function kubernetesModule(groupVersion: string, kind: string): string | undefined {
  return kubernetesGroupVersion(kind) === groupVersion ? `pawl/kit/${groupVersion}` : undefined
}

/** The group and version of a Kubernetes kind by its name, which is unique. */
export function kubernetesGroupVersion(kind: string): string | undefined {
  return Object.entries(KUBERNETES_KINDS).find(([, kinds]) => kinds.split(' ').includes(kind))?.[0]
}
