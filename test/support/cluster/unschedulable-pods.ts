// Deployments whose pods stay unscheduled until the test binds them to a node. So a test controls how long a job waits for readiness, without an edit of a
// deployed object, which another run would revert.

import type { ObjectList } from '../../../activities/kube/client.ts'
import type { Cluster } from './cluster.ts'
import { deployment } from '../landscaper/manifests.ts'

const label = (namespace: string, name: string) => `place.test.example/${namespace}.${name}`

export function unschedulableDeployment(name: string, namespace: string, replicas = 1) {
  const containers = [{ name: 'main', image: 'example/app:1' }]
  const spec = { nodeSelector: { [label(namespace, name)]: 'yes' }, containers }
  return deployment(name, namespace, { replicas, template: { metadata: { labels: { app: name } }, spec } })
}

/** From now on their pods find nodes. */
export async function bindPods({ kube, namespace }: Cluster, names: readonly string[]): Promise<void> {
  const labels = Object.fromEntries(names.map((name) => [label(namespace, name), 'yes']))
  const { items } = await kube.request<ObjectList>('GET', '/api/v1/nodes')
  for (const { metadata } of items)
    await kube.request('PATCH', `/api/v1/nodes/${metadata.name}`, {
      body: { metadata: { labels } },
      contentType: 'application/merge-patch+json',
    })
}
