// The RBAC rules of the engine and of `pawl api`, and the merge of rules. Pure.

import type { AccessRule } from '../../workflows/kit/index.ts'

/** The rights of every worker, independent of its wings. */
export const ENGINE_RULES: readonly AccessRule[] = [{ apiGroups: [''], resources: ['events'], verbs: ['create'] }]

/** `pawl api` sends TokenReviews and SubjectAccessReviews. The ClusterRole `system:auth-delegator` has the same rules. */
export const API_RULES: readonly AccessRule[] = [
  { apiGroups: ['authentication.k8s.io'], resources: ['tokenreviews'], verbs: ['create'] },
  { apiGroups: ['authorization.k8s.io'], resources: ['subjectaccessreviews'], verbs: ['create'] },
]

/** One rule for each combination of API group and verbs. Each resource is in one rule, with all its verbs. */
export function mergeRules(rules: readonly AccessRule[]): readonly AccessRule[] {
  const byRight = new Map<string, AccessRule>()
  for (const rule of byResource(rules)) {
    const right = JSON.stringify([rule.apiGroups, rule.verbs])
    const resources = [...(byRight.get(right)?.resources ?? []), ...rule.resources].sort()
    byRight.set(right, { ...rule, resources })
  }
  return [...byRight.values()]
}

function byResource(rules: readonly AccessRule[]): readonly AccessRule[] {
  const verbs = new Map<string, Set<string>>()
  for (const { apiGroups, resources, verbs: wanted } of rules)
    for (const group of apiGroups)
      for (const resource of resources) {
        const key = JSON.stringify([group, resource])
        verbs.set(key, new Set([...(verbs.get(key) ?? []), ...wanted]))
      }
  return [...verbs].map(([key, found]) => {
    const [group = '', resource = ''] = JSON.parse(key) as string[]
    return { apiGroups: [group], resources: [resource], verbs: inOrder(found) }
  })
}

const VERBS = ['get', 'list', 'watch', 'create', 'update', 'patch', 'delete']

/** In the order in which people write them, rarer ones behind. */
function inOrder(verbs: ReadonlySet<string>): readonly string[] {
  return [...VERBS.filter((verb) => verbs.has(verb)), ...[...verbs].filter((verb) => !VERBS.includes(verb)).sort()]
}
