// Scenarios of jobs whose items apply manifests, with activities that wait, are retried, and run longer than a pass.

import { setTimeout as sleep } from 'node:timers/promises'
import { type Cluster, type LsObject, OPERATION } from '../../support/cluster/cluster.ts'
import {
  configMap,
  deployment,
  manifestItem,
  type ManifestItem,
  start,
  trigger,
} from '../../support/landscaper/manifests.ts'
import { leaving, type Recorder, type RunKind, type Scenarios, startedItem, waitUntil } from './scenario.ts'

const kinds: readonly RunKind[] = ['execution']
const HOLD = 'test.example/hold'

export const manifestScenarios: Scenarios = {
  'manifest-at-once': {
    kinds,
    play: async ({ cluster }, name) => await run(cluster, name, [configMap(name, cluster.namespace)]),
  },
  // The pods of the Deployment cannot be scheduled until its nodeSelector is removed.
  'manifest-waits': {
    kinds,
    async play({ cluster }, name) {
      await begin(cluster, name, [never(name, cluster)])
      await startedItem(cluster, name, 'one')
      // An item is Progressing before its objects exist.
      while ((await cluster.get('deployments', name, 'apps/v1')) === undefined) await sleep(50)
      const path = `/apis/apps/v1/namespaces/${cluster.namespace}/deployments/${name}`
      const body = { spec: { template: { spec: { nodeSelector: null } } } }
      await cluster.kube.request('PATCH', path, { body, contentType: 'application/merge-patch+json' })
      return await cluster.waitUntilFinished(name, undefined, 'executions')
    },
  },
  'manifest-timeout': {
    kinds,
    play: async ({ cluster }, name) => await run(cluster, name, [never(name, cluster)], { timeout: '3s' }),
  },
  'manifest-failed': {
    kinds,
    play: async ({ cluster }, name) =>
      await run(cluster, name, [configMap(name, cluster.namespace)], { target: 'nowhere' }),
  },
  // The namespace of the object is created only after the first error.
  'manifest-retried': {
    kinds,
    async play({ cluster }, name) {
      const later = `${cluster.namespace}-later`
      await begin(cluster, name, [configMap(name, later)])
      await cluster.waitUntilItems(name, ['one'], (item) => item?.status?.lastError !== undefined)
      await cluster.kube.request('POST', '/api/v1/namespaces', { body: { metadata: { name: later } } })
      await cluster.kube.request('POST', `/apis/rbac.authorization.k8s.io/v1/namespaces/${later}/rolebindings`, {
        body: {
          metadata: { name: 'here' },
          roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'admin' },
          subjects: [{ kind: 'ServiceAccount', name: 'here', namespace: cluster.namespace }],
        },
      })
      return await cluster.waitUntilFinished(name, undefined, 'executions')
    },
  },
  // A second job changes one object and deletes the other.
  'manifest-edited': {
    kinds,
    async play({ cluster }, name) {
      const { namespace } = cluster
      const first = await run(cluster, name, [configMap(name, namespace), configMap(`${name}-gone`, namespace)])
      const deployItems = [manifestItem(item([configMap(name, namespace, { key: 'other' })]))]
      await cluster.patch('executions', name, { spec: { deployItems } })
      await trigger(cluster, name, `${name}-2`)
      return await cluster.waitUntilFinished(name, first.status?.jobID, 'executions')
    },
  },
  'manifest-uninstalled': {
    kinds,
    async play({ cluster }, name) {
      const { kube, namespace } = cluster
      const held = configMap(name, namespace)
      const first = await run(cluster, name, [{ ...held, metadata: { ...held.metadata, finalizers: [HOLD] } }])
      await cluster.delete('executions', name)
      await trigger(cluster, name, `${name}-2`)
      const last = await leaving(cluster, 'executions', first)
      const path = `/api/v1/namespaces/${namespace}/configmaps/${name}`
      await waitUntil(async () => (await kube.request<LsObject>('GET', path)).metadata.deletionTimestamp !== undefined)
      const body = { metadata: { finalizers: null } }
      await kube.request('PATCH', path, { body, contentType: 'application/merge-patch+json' })
      await cluster.waitUntilGone(name, 'executions')
      return last
    },
  },
  // A user interrupts the job while an item waits.
  'manifest-interrupted': {
    kinds,
    async play({ cluster }, name) {
      await begin(cluster, name, [never(name, cluster)])
      await startedItem(cluster, name, 'one')
      await cluster.patch('executions', name, { metadata: { annotations: { [OPERATION]: 'interrupt' } } })
      return await cluster.waitUntilFinished(name, undefined, 'executions')
    },
  },
}

/**
 * Scenarios for a Temporal server that suggests continue-as-new early: the run continues as new while an item waits.
 */
export const continuedScenarios: Scenarios = {
  continued: {
    kinds,
    run: 'first',
    play: continued,
  },
}

async function continued({ cluster, client }: Recorder, name: string): Promise<LsObject> {
  // Each item that depends on the previous one adds events to the history.
  const quick = Array.from({ length: 30 }, (_, index) => ({
    name: `q${index}`,
    manifests: [configMap(`${name}-q${index}`, cluster.namespace)],
    ...(index > 0 && { dependsOn: [`q${index - 1}`] }),
  }))
  await start(cluster, name, [{ ...item([never(name, cluster)]), timeout: '20s' }, ...quick])
  const job = await cluster.waitUntil('executions', name, (object) => object?.status?.jobID !== undefined)
  await cluster.waitUntilItems(name, ['q29'], (last) => last?.status?.phase === 'Succeeded')
  // The patch wakes the run, which then finds its history too long.
  const slow = (await cluster.items(name)).get('one')
  await cluster.patch('deployitems', slow?.metadata.name ?? '', {
    metadata: { finalizers: [...(slow?.metadata.finalizers ?? []), HOLD] },
  })
  const query = `PawlJobId = '${job.status?.jobID ?? ''}' and ExecutionStatus = 'ContinuedAsNew'`
  await waitUntil(async () => (await client.workflow.count(query)).count > 0)
  return await cluster.waitUntilFinished(name, undefined, 'executions')
}

type Manifests = ManifestItem['manifests']

function item(manifests: Manifests, options: Partial<ManifestItem> = {}): ManifestItem {
  return { name: 'one', manifests, ...options }
}

async function begin(cluster: Cluster, name: string, manifests: Manifests, options: Partial<ManifestItem> = {}) {
  await start(cluster, name, [item(manifests, options)])
}

async function run(cluster: Cluster, name: string, manifests: Manifests, options: Partial<ManifestItem> = {}) {
  await begin(cluster, name, manifests, options)
  return await cluster.waitUntilFinished(name, undefined, 'executions')
}

/** A Deployment whose pods cannot be scheduled. */
function never(name: string, { namespace }: Cluster) {
  const labels = { app: name }
  const containers = [{ name: 'main', image: 'example/app:1' }]
  const template = { metadata: { labels }, spec: { nodeSelector: { nowhere: 'true' }, containers } }
  return deployment(name, namespace, { template })
}
