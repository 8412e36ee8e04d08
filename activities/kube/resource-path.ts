// Paths of objects on an API server. Separate from the client, because a path needs no kubeconfig library.

import type { Resource } from './client.ts'
import { KubeError } from './kube-error.ts'

/** Names that are invalid as path segments. Source: Kubernetes, "Path Segment Names". */
const NO_SEGMENT = /^\.{0,2}$|[/%]/

function nameless(kind: string, name: string): KubeError {
  const message = `${kind}: found name ${JSON.stringify(name.slice(0, 100))}; expected a name without / and % other than . and ..`
  return new KubeError(message, { status: 404, reason: 'NotFound', missing: { kind, name } })
}

/**
 * Path of a collection or of one object; without a namespace, of the whole cluster.
 *
 * @throws KubeError 404 for an invalid name: the server would interpret the part after a slash as a part of the path,
 * even if it is escaped.
 */
export function resourcePath(
  resource: Resource,
  namespace: string | undefined,
  name?: string,
  subresource?: string,
): string {
  const isNamespaced = namespace !== undefined && namespace !== ''
  if (isNamespaced && NO_SEGMENT.test(namespace)) throw nameless('namespaces', namespace)
  if (name !== undefined && NO_SEGMENT.test(name)) throw nameless(resource.plural, name)
  const root = resource.apiVersion.includes('/') ? `/apis/${resource.apiVersion}` : `/api/${resource.apiVersion}`
  const parts = [
    root,
    ...(isNamespaced ? ['namespaces', encodeURIComponent(namespace)] : []),
    resource.plural,
    ...(name === undefined ? [] : [encodeURIComponent(name)]),
    ...(subresource === undefined ? [] : [subresource]),
  ]
  return parts.join('/')
}
