// Under which name the API server knows a kind, as its discovery says. The journal knows kinds, and rights are for resources.

import type { KubeClient } from '../../activities/kube/client.ts'
import { isNotFound } from '../../activities/kube/kube-error.ts'
import type { GroupKind } from '../../workflows/kit/index.ts'
import { createBriefCache } from './brief-cache.ts'

export interface KnownResource {
  readonly plural: string
  readonly namespaced: boolean
}

/** Undefined: the API server has no such kind. @throws when it does not say. */
export type Resources = (kind: GroupKind) => Promise<KnownResource | undefined>

const KEPT_MS = 60_000
const MOST_GROUPS = 500
// Source: Kubernetes' validation of API groups, DNS subdomains.
const GROUP = /^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$/

interface Group {
  readonly versions?: readonly { readonly groupVersion: string }[]
}

interface ResourceList {
  readonly resources?: readonly { readonly name: string; readonly kind: string; readonly namespaced: boolean }[]
}

export function createResources(kube: Pick<KubeClient, 'request'>, now: () => number): Resources {
  const kept = createBriefCache<ReadonlyMap<string, KnownResource>>(KEPT_MS, MOST_GROUPS, now)
  return async ({ group, kind }) => {
    if (group !== '' && !GROUP.test(group)) return undefined
    return (await kept.get(group, () => readGroup(kube, group))).get(kind)
  }
}

async function readGroup(
  kube: Pick<KubeClient, 'request'>,
  group: string,
): Promise<ReadonlyMap<string, KnownResource>> {
  const found = new Map<string, KnownResource>()
  for (const path of await pathsOf(kube, group)) {
    const { resources = [] } = await kube.request<ResourceList>('GET', path)
    // The first version is the preferred one.
    for (const { name, kind, namespaced } of resources)
      if (!name.includes('/') && !found.has(kind)) found.set(kind, { plural: name, namespaced })
  }
  return found
}

async function pathsOf(kube: Pick<KubeClient, 'request'>, group: string): Promise<readonly string[]> {
  if (group === '') return ['/api/v1']
  try {
    const { versions = [] } = await kube.request<Group>('GET', `/apis/${group}`)
    return versions.map(({ groupVersion }) => `/apis/${groupVersion}`)
  } catch (error) {
    if (isNotFound(error)) return []
    throw error
  }
}
