// What is known of Kubernetes' own kinds without a schema: by which fields its API server selects. Source: k8s.io/kubernetes v1.34.4,
// pkg/apis/*/v1/conversion.go (AddFieldLabelConversionFunc); a server of another version may know more.

import type { KindFacts } from '../../../workflows/kit/dsl/index.ts'
import { isWithoutNamespace } from '../../../workflows/kit/index.ts'

// The group of the core is empty. Groups that end in k8s.io may also be others', so all are named.
const GROUPS: ReadonlySet<string> = new Set([
  '',
  'admissionregistration.k8s.io',
  'apiextensions.k8s.io',
  'apiregistration.k8s.io',
  'apps',
  'autoscaling',
  'batch',
  'certificates.k8s.io',
  'coordination.k8s.io',
  'discovery.k8s.io',
  'events.k8s.io',
  'flowcontrol.apiserver.k8s.io',
  'networking.k8s.io',
  'node.k8s.io',
  'policy',
  'rbac.authorization.k8s.io',
  'resource.k8s.io',
  'scheduling.k8s.io',
  'storage.k8s.io',
])

const SELECTABLE: Readonly<Record<string, string>> = {
  '/Pod':
    'spec.nodeName spec.restartPolicy spec.schedulerName spec.serviceAccountName spec.hostNetwork ' +
    'status.phase status.podIP status.podIPs status.nominatedNodeName',
  '/Node': 'spec.unschedulable',
  '/ReplicationController': 'status.replicas',
  '/Event':
    'involvedObject.kind involvedObject.namespace involvedObject.name involvedObject.uid involvedObject.apiVersion ' +
    'involvedObject.resourceVersion involvedObject.fieldPath reason reportingComponent source type',
  '/Namespace': 'status.phase',
  '/Secret': 'type',
  '/Service': 'spec.clusterIP spec.type',
  'batch/Job': 'status.successful',
  'certificates.k8s.io/CertificateSigningRequest': 'spec.signerName',
  'resource.k8s.io/ResourceSlice': 'spec.nodeName spec.driver',
}

/** The facts of a kind of Kubernetes itself; undefined for any other. Its fields are not known here (kubernetes-fields.ts). */
export function kubernetesFacts(groupVersion: string, kind: string): KindFacts | undefined {
  const group = groupVersion.includes('/') ? groupVersion.slice(0, groupVersion.indexOf('/')) : ''
  if (!GROUPS.has(group)) return undefined
  const selectable = SELECTABLE[`${group}/${kind}`]
  return {
    // Fields of Kubernetes' own objects begin with a small letter; Go's names of them do not.
    fieldAt: ([first = '']) => (/^[a-z]/.test(first) ? 'unknown' : undefined),
    namesBelow: () => [],
    selectableFields: selectable === undefined ? [] : selectable.split(' '),
    isNamespaced: !isWithoutNamespace(groupVersion, kind),
  }
}
