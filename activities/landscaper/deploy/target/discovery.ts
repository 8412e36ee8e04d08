// What kinds a cluster serves, remembered: one request per group and version, not per object.
//
//   V1. What is known is asked for again after ten minutes; what is unknown at most every second, for whoever has just applied a CRD.

import type { KubeClient } from '../../../kube/client.ts'
import { isNotFound, KubeError } from '../../../kube/errors.ts'
import { toDeployError } from '../run/deploy-errors.ts'
import { type Fields, isMap } from '../objects/readiness/field-reader.ts'
import { unlessAborted } from './shared-work.ts'
import type { ServedKind, TargetCluster } from './target-cluster.ts'

const REMEMBERED_MS = 10 * 60_000
const UNKNOWN_MS = 1000

interface Answer {
  readonly askedAt: number
  readonly kinds: Promise<ReadonlyMap<string, ServedKind>>
}

/** `servedKind` of a cluster. */
export function createDiscovery(kube: Pick<KubeClient, 'request'>, now: () => Date): TargetCluster['servedKind'] {
  const answers = new Map<string, Answer>()

  const ask = (apiVersion: string): Answer => {
    const answer = { askedAt: now().getTime(), kinds: readKinds(kube, apiVersion) }
    answers.set(apiVersion, answer)
    // A failure is nothing to remember; whoever waits for the answer gets it.
    answer.kinds.catch(() => {
      if (answers.get(apiVersion) === answer) answers.delete(apiVersion)
    })
    return answer
  }

  return async (apiVersion, kind, signal) => {
    if (!isApiVersion(apiVersion)) return undefined
    const known = answers.get(apiVersion)
    const ageMs = known === undefined ? Infinity : now().getTime() - known.askedAt
    if (known !== undefined && ageMs < REMEMBERED_MS) {
      const found = (await unlessAborted(known.kinds, signal)).get(kind)
      if (found !== undefined || ageMs < UNKNOWN_MS) return found
    }
    // Another caller may have asked meanwhile.
    const latest = answers.get(apiVersion)
    const answer = latest === undefined || latest === known ? ask(apiVersion) : latest
    return (await unlessAborted(answer.kinds, signal)).get(kind)
  }
}

/**
 * How the cluster serves a kind in another version of its group; undefined when it serves none.
 * The versions are asked for anew each time: it is a question for the moment in which a kind seems to be gone.
 *
 * @throws KubeError, DeployError
 */
export async function servedOtherwise(
  target: TargetCluster,
  { apiVersion, kind }: { readonly apiVersion: string; readonly kind: string },
  signal: AbortSignal,
): Promise<ServedKind | undefined> {
  const [group, version] = apiVersion.split('/')
  if (group === undefined || !isApiVersion(apiVersion)) return undefined
  // The core group has one version.
  const versions = version === undefined ? ['v1'] : await versionsOf(target.kube, group, signal)
  for (const one of versions) {
    const served = one === apiVersion ? undefined : await target.servedKind(one, kind, signal)
    if (served !== undefined) return served
  }
  return undefined
}

async function versionsOf(
  kube: Pick<KubeClient, 'request'>,
  group: string,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const path = `/apis/${group}`
  const { versions, preferredVersion } = await answered(kube, path, { versions: [] }, signal)
  if (!Array.isArray(versions)) throw KubeError.unreachable('GET', path, 'the answer is no group of kinds')
  const all = [preferredVersion, ...(versions as readonly unknown[])].map((one) =>
    isMap(one) ? one['groupVersion'] : undefined,
  )
  return [...new Set(all)]
    .filter((one): one is string => typeof one === 'string' && one.startsWith(`${group}/`))
    .slice(0, MOST_VERSIONS)
}

const MOST_VERSIONS = 20

async function readKinds(
  kube: Pick<KubeClient, 'request'>,
  apiVersion: string,
): Promise<ReadonlyMap<string, ServedKind>> {
  const kinds = new Map<string, ServedKind>()
  for (const one of await readServedKinds(kube, apiVersion)) if (!kinds.has(one.kind)) kinds.set(one.kind, one)
  return kinds
}

/** All kinds of a group and version; none when it is not there. @throws KubeError, DeployError */
export async function readServedKinds(
  kube: Pick<KubeClient, 'request'>,
  apiVersion: string,
  signal?: AbortSignal,
): Promise<readonly ServedKind[]> {
  const path = apiVersion.includes('/') ? `/apis/${apiVersion}` : `/api/${apiVersion}`
  const { resources } = await answered(kube, path, { resources: [] }, signal)
  // What is missing must not look like a kind that is gone: its objects would count as deleted.
  if (!Array.isArray(resources)) throw KubeError.unreachable('GET', path, 'the answer is no list of kinds')
  return resources.filter(isMap).flatMap(({ name, kind, namespaced }) => {
    // Subresources have the kind of what they answer with.
    if (typeof name !== 'string' || typeof kind !== 'string' || !/^[a-z0-9-]+$/.test(name)) return []
    return [{ apiVersion, kind, plural: name, namespaced: namespaced === true }]
  })
}

async function answered(
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

// Anything else would lead to another path of the server.
function isApiVersion(text: string): boolean {
  return text.length <= 300 && /^(?:[a-z0-9][a-z0-9.-]*\/)?[a-z0-9]+$/i.test(text)
}
