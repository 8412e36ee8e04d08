// What kinds a cluster serves, remembered: one request per group and version, not per object.
//
//   V1. What is known is asked for again after ten minutes; what is unknown at most every second, for whoever has just applied a CRD.

import type { KubeClient } from '../../kube/client.ts'
import { isNotFound, KubeError } from '../../kube/errors.ts'
import { toDeployError } from '../deploy-errors.ts'
import { type Fields, isMap } from '../readiness/field-reader.ts'
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

  return async (apiVersion, kind) => {
    // Anything else would lead to another path of the server.
    if (!/^(?:[a-z0-9.-]+\/)?[a-z0-9]+$/i.test(apiVersion) || apiVersion.startsWith('.')) return undefined
    const known = answers.get(apiVersion)
    const ageMs = known === undefined ? Infinity : now().getTime() - known.askedAt
    if (known !== undefined && ageMs < REMEMBERED_MS) {
      const found = (await known.kinds).get(kind)
      if (found !== undefined || ageMs < UNKNOWN_MS) return found
    }
    // Another caller may have asked meanwhile.
    const latest = answers.get(apiVersion)
    return (await (latest === undefined || latest === known ? ask(apiVersion) : latest).kinds).get(kind)
  }
}

async function readKinds(kube: Pick<KubeClient, 'request'>, apiVersion: string): Promise<ReadonlyMap<string, ServedKind>> {
  const path = apiVersion.includes('/') ? `/apis/${apiVersion}` : `/api/${apiVersion}`
  const kinds = new Map<string, ServedKind>()
  for (const { name, kind, namespaced } of await readResources(kube, path)) {
    // Subresources have the kind of what they answer with.
    if (typeof name !== 'string' || typeof kind !== 'string' || !/^[a-z0-9-]+$/.test(name) || kinds.has(kind)) continue
    kinds.set(kind, { apiVersion, kind, plural: name, namespaced: namespaced === true })
  }
  return kinds
}

async function readResources(kube: Pick<KubeClient, 'request'>, path: string): Promise<readonly Fields[]> {
  try {
    const { resources } = await kube.request<Fields>('GET', path)
    return Array.isArray(resources) ? resources.filter(isMap) : []
  } catch (error) {
    if (isNotFound(error)) return []
    if (error instanceof KubeError && error.status === 401) throw toDeployError('Discovery', error)
    throw error
  }
}
