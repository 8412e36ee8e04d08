// The kinds that a cluster serves, cached: one request per group and version, not per object.
//
//   V1. A known kind is requested again after ten minutes, an unknown kind at most every second.
//   V2. An HTTP 404 for a path, other than one for an object, drops the cache of the path's group: the kind has another plural, another scope or
//       another version now, or does not exist any more.
//   V3. The cache alone never proves that a kind is not served. Code that reports "gone" or "not served" calls `forgetKinds` and requests the kind
//       again.
//   V4. A kind is missing only on a server that is a Kubernetes API server (api-server-check.ts).

import type { KubeClient, Method, RequestOptions } from '../../../kube/client.ts'
import { isNotFound, KubeError } from '../../../kube/errors.ts'
import { toDeployError } from '../run/deploy-errors.ts'
import { type Fields, isMap } from '../objects/readiness/field-reader.ts'
import { withServerCheck } from './api-server-check.ts'
import { unlessAborted } from './shared-work.ts'
import { groupOf, type ServedKind, type TargetCluster } from './target-cluster.ts'

const KNOWN_KIND_TTL_MS = 10 * 60_000
const UNKNOWN_KIND_TTL_MS = 1000

interface Answer {
  readonly askedAt: number
  readonly kinds: Promise<ReadonlyMap<string, ServedKind>>
}

/**
 * The cluster behind a client, with a cache of the kinds that it serves.
 *
 * @param at the object that names the server, for messages: `Target "default/cluster"`.
 */
export function createTargetCluster(kube: KubeClient, now: () => Date, at: string): TargetCluster {
  const checked = withServerCheck(kube, at)
  const kinds = new KindCache(checked, now)
  return {
    kube: {
      get connection() {
        return kube.connection
      },
      async request<T>(method: Method, path: string, options?: RequestOptions): Promise<T> {
        try {
          return await checked.request<T>(method, path, options)
        } catch (error) {
          // V2.
          if (isNotFound(error) && error.missing === undefined) kinds.forget(groupOfPath(path))
          throw error
        }
      },
      stream: (path, signal) => kube.stream(path, signal),
      close: () => kube.close(),
    },
    servedKind: (apiVersion, kind, signal) => kinds.servedKind(apiVersion, kind, signal),
    forgetKinds: (apiVersion) => kinds.forget(groupOf(apiVersion)),
  }
}

class KindCache {
  readonly #kube: Pick<KubeClient, 'request'>
  readonly #now: () => Date
  /** By group and version. */
  readonly #answers = new Map<string, Answer>()

  constructor(kube: Pick<KubeClient, 'request'>, now: () => Date) {
    this.#kube = kube
    this.#now = now
  }

  forget(group: string): void {
    for (const apiVersion of this.#answers.keys()) if (groupOf(apiVersion) === group) this.#answers.delete(apiVersion)
  }

  async servedKind(apiVersion: string, kind: string, signal?: AbortSignal): Promise<ServedKind | undefined> {
    if (!isApiVersion(apiVersion)) return undefined
    const known = this.#answers.get(apiVersion)
    const ageMs = known === undefined ? Infinity : this.#now().getTime() - known.askedAt
    if (known !== undefined && ageMs < KNOWN_KIND_TTL_MS) {
      const found = (await unlessAborted(known.kinds, signal)).get(kind)
      if (found !== undefined || ageMs < UNKNOWN_KIND_TTL_MS) return found
    }
    // Another caller may have sent the request meanwhile.
    const latest = this.#answers.get(apiVersion)
    const answer = latest === undefined || latest === known ? this.#ask(apiVersion) : latest
    return (await unlessAborted(answer.kinds, signal)).get(kind)
  }

  #ask(apiVersion: string): Answer {
    const answer = { askedAt: this.#now().getTime(), kinds: readKinds(this.#kube, apiVersion) }
    this.#answers.set(apiVersion, answer)
    // A failure is not cached; the callers that wait for the answer get it.
    answer.kinds.catch(() => {
      if (this.#answers.get(apiVersion) === answer) this.#answers.delete(apiVersion)
    })
    return answer
  }
}

function groupOfPath(path: string): string {
  const [, root, group = ''] = path.split('/')
  return root === 'apis' ? group : ''
}

/**
 * A kind as the cluster serves it: in the given version, otherwise in any other version of its group. Undefined when no version of the group has the
 * kind.
 * The list of versions is never cached.
 *
 * @throws KubeError, DeployError
 */
export async function servedInAnyVersion(
  target: TargetCluster,
  { apiVersion, kind }: { readonly apiVersion: string; readonly kind: string },
  signal: AbortSignal,
): Promise<ServedKind | undefined> {
  const served = await target.servedKind(apiVersion, kind, signal)
  if (served !== undefined || !isApiVersion(apiVersion)) return served
  for (const one of await versionsServed(target.kube, apiVersion, signal)) {
    const other = one === apiVersion ? undefined : await target.servedKind(one, kind, signal)
    if (other !== undefined) return other
  }
  return undefined
}

/** All versions of the group of `apiVersion`, the preferred one first; empty when the group does not exist. @throws KubeError, DeployError */
export async function versionsServed(
  kube: Pick<KubeClient, 'request'>,
  apiVersion: string,
  signal: AbortSignal,
): Promise<readonly string[]> {
  if (!isApiVersion(apiVersion)) return []
  const group = groupOf(apiVersion)
  // The core group has one version.
  if (group === '') return ['v1']
  const path = `/apis/${group}`
  const { versions, preferredVersion } = await requestDiscovery(kube, path, { versions: [] }, signal)
  if (!Array.isArray(versions)) throw KubeError.unreachable('GET', path, 'the answer is not an API group')
  const all = [preferredVersion, ...(versions as readonly unknown[])].map((one) =>
    isMap(one) ? one['groupVersion'] : undefined,
  )
  const found = [...new Set(all)].filter((one): one is string => typeof one === 'string' && one.startsWith(`${group}/`))
  if (found.length <= MOST_VERSIONS) return found
  throw KubeError.unreachable(
    'GET',
    path,
    `the group has ${found.length} versions; Pawl reads at most ${MOST_VERSIONS}`,
  )
}

const MOST_VERSIONS = 50

async function readKinds(
  kube: Pick<KubeClient, 'request'>,
  apiVersion: string,
): Promise<ReadonlyMap<string, ServedKind>> {
  const kinds = new Map<string, ServedKind>()
  for (const one of await readServedKinds(kube, apiVersion)) if (!kinds.has(one.kind)) kinds.set(one.kind, one)
  return kinds
}

/** All kinds of a group and version; none if it does not exist. @throws KubeError, DeployError */
export async function readServedKinds(
  kube: Pick<KubeClient, 'request'>,
  apiVersion: string,
  signal?: AbortSignal,
): Promise<readonly ServedKind[]> {
  const path = apiVersion.includes('/') ? `/apis/${apiVersion}` : `/api/${apiVersion}`
  const { resources } = await requestDiscovery(kube, path, { resources: [] }, signal)
  // An invalid answer must not look like a missing kind: its objects would count as deleted.
  if (!Array.isArray(resources)) throw KubeError.unreachable('GET', path, 'the answer is not a list of kinds')
  return resources.filter(isMap).flatMap(({ name, kind, namespaced }) => {
    // A subresource has the kind of its response.
    if (typeof name !== 'string' || typeof kind !== 'string' || !/^[a-z0-9-]+$/.test(name)) return []
    return [{ apiVersion, kind, plural: name, namespaced: namespaced === true }]
  })
}

async function requestDiscovery(
  kube: Pick<KubeClient, 'request'>,
  path: string,
  ifAbsent: Fields,
  signal?: AbortSignal,
): Promise<Fields> {
  try {
    const answer = await kube.request<unknown>('GET', path, { signal })
    return isMap(answer) ? answer : {}
  } catch (error) {
    if (isNotFound(error)) return ifAbsent
    if (error instanceof KubeError && error.status === 401) throw toDeployError('Discovery', error)
    throw error
  }
}

// Other texts would lead to another path of the server.
function isApiVersion(text: string): boolean {
  return text.length <= 300 && /^(?:[a-z0-9][a-z0-9.-]*\/)?[a-z0-9]+$/i.test(text)
}
