// Checks what a user may do in Kubernetes, by SubjectAccessReviews. Reviews are cached for a short time, so a revoked
// permission is valid at most that long. API discovery maps the kinds of the journal to resources.

import type { KubeClient } from '../../activities/kube/client.ts'
import type { GroupKind } from '../../workflows/kit/index.ts'
import { createExpiringCache } from './expiring-cache.ts'
import type { User } from './users.ts'
import { isNotFound } from '../../activities/kube/kube-error.ts'
import type { LocatedObject } from '../../activities/journal/read/object-locations.ts'

const MAX_CACHED = 20_000

interface AccessReview {
  readonly status?: { readonly allowed?: boolean }
}

export type PermissionsOf = (user: User) => Permissions

export function createPermissions(
  kube: Pick<KubeClient, 'request'>,
  {
    resources,
    cachedMs,
    now,
  }: { readonly resources: Resources; readonly cachedMs: number; readonly now: () => number },
): PermissionsOf {
  const cache = createExpiringCache<boolean>(cachedMs, MAX_CACHED, now)
  const review = async (user: User, attributes: Readonly<Record<string, string>>) => {
    const { username, uid, groups, extra } = user
    const body = {
      apiVersion: 'authorization.k8s.io/v1',
      kind: 'SubjectAccessReview',
      spec: { user: username, uid, groups, extra, resourceAttributes: attributes },
    }
    const path = '/apis/authorization.k8s.io/v1/subjectaccessreviews'
    const { status } = await kube.request<AccessReview>('POST', path, { body })
    return status?.allowed === true
  }
  return (user) => {
    const userKey = JSON.stringify([user.username, user.uid, user.groups, user.extra])
    return {
      hasScope: async (kind: GroupKind, namespace: string) => {
        const resource = await resources(kind)
        return resource !== undefined && resource.namespaced === (namespace !== '')
      },
      may: async (verb, kind, namespace) => {
        const resource = await resources(kind)
        if (resource === undefined) return false
        const attributes = { verb, group: kind.group, version: '*', resource: resource.plural, namespace }
        return await cache.get(JSON.stringify([userKey, attributes]), () => review(user, attributes))
      },
    }
  }
}

// The resource of a kind.

export interface KnownResource {
  readonly plural: string
  readonly namespaced: boolean
}

/** Undefined if the API server has no such kind. @throws KubeError if discovery fails. */
export type Resources = (kind: GroupKind) => Promise<KnownResource | undefined>

const DISCOVERY_CACHE_MS = 60_000
const MAX_GROUPS = 500
// Source: Kubernetes' validation of API groups, DNS subdomains.
const GROUP = /^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$/

interface Group {
  readonly versions?: readonly { readonly groupVersion: string }[]
}

interface ResourceList {
  readonly resources?: readonly { readonly name: string; readonly kind: string; readonly namespaced: boolean }[]
}

export function createResources(kube: Pick<KubeClient, 'request'>, now: () => number): Resources {
  const cache = createExpiringCache<ReadonlyMap<string, KnownResource>>(DISCOVERY_CACHE_MS, MAX_GROUPS, now)
  return async ({ group, kind }) => {
    if (group !== '' && !GROUP.test(group)) return undefined
    return (await cache.get(group, () => readGroup(kube, group))).get(kind)
  }
}

async function readGroup(
  kube: Pick<KubeClient, 'request'>,
  group: string,
): Promise<ReadonlyMap<string, KnownResource>> {
  const found = new Map<string, KnownResource>()
  for (const path of await pathsOf(kube, group)) {
    const { resources = [] } = await kube.request<ResourceList>('GET', path)
    // Discovery lists the preferred version first.
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

export type Verb = 'get' | 'list'

/** The permissions of one user. */
export interface Permissions {
  /** @param namespace empty for all namespaces, and for cluster-scoped kinds. */
  readonly may: (verb: Verb, kind: GroupKind, namespace: string) => Promise<boolean>
  /**
   * True if the kind is namespaced and a namespace is given, or cluster-scoped and none is given; false for a kind that
   * the API server does not have.
   */
  readonly hasScope: (kind: GroupKind, namespace: string) => Promise<boolean>
}

/** Looks up objects and their namespaces in the journal. */
export interface ObjectPlaces {
  readonly placesOf: (uids: readonly string[]) => Promise<ReadonlyMap<string, LocatedObject>>
  readonly placesOfRuns: (workflowIDs: readonly string[]) => Promise<ReadonlyMap<string, LocatedObject>>
  readonly namespacesOf: (kind: GroupKind, most: number) => Promise<readonly string[]>
}
