// Where objects are on an API server. Apart from the client: to know a path, nobody waits for the library of kubeconfigs.

import type { Resource } from './client.ts'
import { KubeError } from './kube-error.ts'

/** What no name may be that is a segment of a path. Source: Kubernetes, "Path Segment Names". */
const NO_SEGMENT = /^\.{0,2}$|[/%]/

function nameless(kind: string, name: string): KubeError {
  const message = `found no ${kind} ${JSON.stringify(name.slice(0, 100))}: expected a name without / and %, which is not . or ..`
  return new KubeError(message, { status: 404, reason: 'NotFound', missing: { kind, name } })
}

/**
 * The path of a collection, or of one object in it. Without namespace, or with an empty one: of the whole cluster.
 *
 * @throws KubeError 404 for a name that no object has: the server would take what is behind a slash, however it is written, for a part of the path.
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
