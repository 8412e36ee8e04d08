// Facts about Kubernetes' own kinds: fields that field selectors support, and field names and types from the official client. Source of the selectable fields:
// k8s.io/kubernetes v1.34.4, pkg/apis/*/v1/conversion.go (AddFieldLabelConversionFunc). Other versions may support more.

import type { KindFacts, FieldSort } from '../../../workflows/kit/dsl/index.ts'
import { isWithoutNamespace } from '../../../workflows/kit/index.ts'

// The core group has an empty name. Other projects also use groups that end in k8s.io, so this list is explicit.
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

/** The facts of one of Kubernetes' own kinds, without its fields. Undefined for other kinds. */
export function kubernetesFacts(groupVersion: string, kind: string): KindFacts | undefined {
  const group = groupVersion.includes('/') ? groupVersion.slice(0, groupVersion.indexOf('/')) : ''
  if (!GROUPS.has(group)) return undefined
  const selectable = SELECTABLE[`${group}/${kind}`]
  return {
    // JSON fields of Kubernetes start with a small letter, Go fields do not.
    fieldAt: ([first = '']) => (/^[a-z]/.test(first) ? 'unknown' : undefined),
    namesBelow: () => [],
    selectableFields: selectable === undefined ? [] : selectable.split(' '),
    isNamespaced: !isWithoutNamespace(groupVersion, kind),
  }
}

interface Model {
  getAttributeTypeMap(): readonly { readonly baseName: string; readonly type: string }[]
}

type Fields = Pick<KindFacts, 'fieldAt' | 'namesBelow'>

/** The fields of one of Kubernetes' own kinds. Undefined for other kinds, and for versions that the client lacks. It loads the client, which is large. */
export async function kubernetesFields(groupVersion: string, kind: string): Promise<Fields | undefined> {
  if (kubernetesFacts(groupVersion, kind) === undefined) return undefined
  const client = (await import('@kubernetes/client-node')) as unknown as Readonly<Record<string, unknown>>
  const modelOf = (type: string): Model | undefined => {
    const found = Object.hasOwn(client, type) ? client[type] : undefined
    return isModel(found) ? found : undefined
  }
  const root = modelName(groupVersion, kind)
  if (modelOf(root) === undefined) return undefined
  const typeAt = (path: readonly string[]) => below(root, path, modelOf)
  return {
    fieldAt: (path) => sortOf(typeAt(path)),
    namesBelow: (path) =>
      (modelOf(typeAt(path) ?? '')?.getAttributeTypeMap() ?? [])
        .map(({ baseName }) => baseName)
        .filter((name) => name !== 'metadata'),
  }
}

// The name of a kind's type in the client. Two groups have a kind Event.
function modelName(groupVersion: string, kind: string): string {
  const [version = '', group] = groupVersion.split('/').reverse()
  const prefix = `${version.charAt(0).toUpperCase()}${version.slice(1)}`
  if (kind !== 'Event') return prefix + kind
  return `${group === undefined ? 'Core' : 'Events'}${prefix}${kind}`
}

/** The name of the type at a path below another type. */
function below(
  type: string,
  [name, ...rest]: readonly string[],
  modelOf: (type: string) => Model | undefined,
): string | undefined {
  if (name === undefined || type === 'any') return type
  const [, values] = /^\{ \[key: string\]: (.+); \}$/.exec(type) ?? []
  const attributes = modelOf(type)?.getAttributeTypeMap() ?? []
  const next = values ?? attributes.find(({ baseName }) => baseName === name)?.type
  return next === undefined ? undefined : below(next, rest, modelOf)
}

function sortOf(type: string | undefined): FieldSort | undefined {
  if (type === undefined) return undefined
  if (type === 'any' || type === 'IntOrString') return 'anything'
  // A timestamp is a JSON string.
  return type === 'string' || type === 'Date' ? 'text' : 'other'
}

function isModel(value: unknown): value is Model {
  return typeof value === 'function' && 'getAttributeTypeMap' in value
}
