import type { KubeClient } from '../../../activities/kube/client.ts'

/** Lets a group of users that is of no operators write all of the wing's kinds in the namespace. */
export async function grantGuests(kube: KubeClient, namespace: string): Promise<void> {
  const path = `/apis/rbac.authorization.k8s.io/v1/namespaces/${namespace}`
  const rules = [{ apiGroups: ['chaos.datadoghq.com'], resources: ['*'], verbs: ['*'] }]
  await kube.request('POST', `${path}/roles`, { body: { metadata: { name: 'guests' }, rules } })
  const body = {
    metadata: { name: 'guests' },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'guests' },
    subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'Group', name: 'guests' }],
  }
  await kube.request('POST', `${path}/rolebindings`, { body })
}
