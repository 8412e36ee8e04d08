// Identifies kinds by API group and name, never by version. Also lists Kubernetes' own kinds with plural and scope. Two groups may have a kind of one
// name.
// Source: k8s.io/apimachinery, pkg/runtime/schema, GroupKind; k8s.io/kubernetes v1.34.4, pkg/apis/*/register.go and pkg/registry/*/*/strategy.go
// (NamespaceScoped). Plurals follow apimachinery's rule, with one exception.

export interface GroupKind {
  /** `example.com`; '' is Kubernetes' core. */
  readonly group: string
  readonly kind: string
}

/** The group and kind of apiVersion and kind: `example.com/v1` and `Widget`, or `v1` and `Pod`. */
export function groupKindOf({ apiVersion, kind }: { readonly apiVersion: string; readonly kind: string }): GroupKind {
  return { group: groupOf(apiVersion), kind }
}

/** `Widget.example.com` as in kubectl; a core kind is its name alone. Unique, because a kind's name contains no dot. */
export function groupKindText({ group, kind }: GroupKind): string {
  return group === '' ? kind : `${kind}.${group}`
}

export function isSameGroupKind(left: GroupKind, right: GroupKind): boolean {
  return left.kind === right.kind && left.group === right.group
}

/** Kinds by group; the core group has the empty name. */
const KINDS: Readonly<Record<string, string>> = {
  '':
    'ComponentStatus ConfigMap Endpoints Event LimitRange Namespace Node PersistentVolume PersistentVolumeClaim Pod PodTemplate ' +
    'ReplicationController ResourceQuota Secret Service ServiceAccount',
  'admissionregistration.k8s.io':
    'MutatingAdmissionPolicy MutatingAdmissionPolicyBinding MutatingWebhookConfiguration ValidatingAdmissionPolicy ' +
    'ValidatingAdmissionPolicyBinding ValidatingWebhookConfiguration',
  'apiextensions.k8s.io': 'CustomResourceDefinition',
  'apiregistration.k8s.io': 'APIService',
  apps: 'ControllerRevision DaemonSet Deployment ReplicaSet StatefulSet',
  autoscaling: 'HorizontalPodAutoscaler',
  batch: 'CronJob Job',
  'certificates.k8s.io': 'CertificateSigningRequest ClusterTrustBundle',
  'coordination.k8s.io': 'Lease',
  'discovery.k8s.io': 'EndpointSlice',
  'events.k8s.io': 'Event',
  'flowcontrol.apiserver.k8s.io': 'FlowSchema PriorityLevelConfiguration',
  'networking.k8s.io': 'IPAddress Ingress IngressClass NetworkPolicy ServiceCIDR',
  'node.k8s.io': 'RuntimeClass',
  policy: 'PodDisruptionBudget',
  'rbac.authorization.k8s.io': 'ClusterRole ClusterRoleBinding Role RoleBinding',
  'resource.k8s.io': 'DeviceClass ResourceClaim ResourceClaimTemplate ResourceSlice',
  'scheduling.k8s.io': 'PriorityClass',
  'storage.k8s.io': 'CSIDriver CSINode CSIStorageCapacity StorageClass VolumeAttachment VolumeAttributesClass',
}

const WITHOUT_NAMESPACE: ReadonlySet<string> = new Set(
  (
    'APIService CSIDriver CSINode CertificateSigningRequest ClusterRole ClusterRoleBinding ClusterTrustBundle ComponentStatus ' +
    'CustomResourceDefinition DeviceClass FlowSchema IPAddress IngressClass MutatingAdmissionPolicy ' +
    'MutatingAdmissionPolicyBinding MutatingWebhookConfiguration Namespace Node PersistentVolume PriorityClass ' +
    'PriorityLevelConfiguration ResourceSlice RuntimeClass ServiceCIDR StorageClass ValidatingAdmissionPolicy ' +
    'ValidatingAdmissionPolicyBinding ValidatingWebhookConfiguration VolumeAttachment VolumeAttributesClass'
  ).split(' '),
)

/** Whether a Kubernetes kind is cluster-scoped. */
export function isWithoutNamespace(apiVersion: string, kind: string): boolean {
  return kubernetesPlural(apiVersion, kind) !== undefined && WITHOUT_NAMESPACE.has(kind)
}

/** The plural of a Kubernetes kind; undefined for any other. */
export function kubernetesPlural(apiVersion: string, kind: string): string | undefined {
  const group = groupOf(apiVersion)
  const known = Object.hasOwn(KINDS, group) ? (KINDS[group] ?? '').split(' ') : []
  return known.includes(kind) ? pluralOf(kind.toLowerCase()) : undefined
}

/** `apps` of `apps/v1`; empty for the core group. */
export function groupOf(apiVersion: string): string {
  return apiVersion.includes('/') ? apiVersion.slice(0, apiVersion.indexOf('/')) : ''
}

function pluralOf(singular: string): string {
  if (singular === 'endpoints') return singular
  if (singular.endsWith('s')) return `${singular}es`
  return singular.endsWith('y') ? `${singular.slice(0, -1)}ies` : `${singular}s`
}
