// What a user may do, by the API server (SubjectAccessReview), kept for a short time: what is taken from somebody holds no longer than that.

import type { KubeClient } from '../../activities/kube/client.ts'
import type { GroupKind } from '../../workflows/kit/index.ts'
import { createBriefCache } from './brief-cache.ts'
import type { Rights } from './ground.ts'
import type { Resources } from './resources.ts'
import type { User } from './users.ts'

const MOST_KEPT = 20_000

interface AccessReview {
  readonly status?: { readonly allowed?: boolean }
}

export type RightsOf = (user: User) => Rights

export function createRights(
  kube: Pick<KubeClient, 'request'>,
  { resources, keptMs, now }: { readonly resources: Resources; readonly keptMs: number; readonly now: () => number },
): RightsOf {
  const kept = createBriefCache<boolean>(keptMs, MOST_KEPT, now)
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
    const who = JSON.stringify([user.username, user.uid, user.groups, user.extra])
    return {
      fits: async (kind: GroupKind, namespace: string) => {
        const resource = await resources(kind)
        return resource !== undefined && resource.namespaced === (namespace !== '')
      },
      may: async (verb, kind, namespace) => {
        const resource = await resources(kind)
        if (resource === undefined) return false
        const attributes = { verb, group: kind.group, version: '*', resource: resource.plural, namespace }
        return await kept.get(JSON.stringify([who, attributes]), () => review(user, attributes))
      },
    }
  }
}
