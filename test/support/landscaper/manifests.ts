// Manifest items for tests, and a Target that leads to the test's cluster with a ServiceAccount.

import { API, type Cluster } from '../cluster/cluster.ts'

export const MANIFEST_TYPE = 'landscaper.gardener.cloud/kubernetes-manifest'
export const TARGET_TYPE = 'landscaper.gardener.cloud/kubernetes-cluster'
const CONFIG_API = 'manifest.deployer.landscaper.gardener.cloud/v1alpha2'

type Fields = Readonly<Record<string, unknown>>

/** A Target `here`: the namespace of the test by a ServiceAccount that is its admin. */
export async function createTarget({ kube, namespace }: Cluster, name = 'here', role = 'admin'): Promise<void> {
  const metadata = { name, namespace }
  const rbac = 'rbac.authorization.k8s.io'
  await kube.request('POST', `/api/v1/namespaces/${namespace}/serviceaccounts`, { body: { metadata } })
  await kube.request('POST', `/apis/${rbac}/v1/namespaces/${namespace}/rolebindings`, {
    body: {
      metadata,
      roleRef: { apiGroup: rbac, kind: 'ClusterRole', name: role },
      subjects: [{ kind: 'ServiceAccount', name, namespace }],
    },
  })
  await kube.request('POST', `/apis/${API}/namespaces/${namespace}/targets`, {
    body: {
      apiVersion: API,
      kind: 'Target',
      metadata,
      spec: { type: TARGET_TYPE, config: { selfConfig: { serviceAccount: { name } } } },
    },
  })
}

export interface ManifestItem {
  readonly name: string
  readonly manifests: readonly Fields[]
  readonly dependsOn?: readonly string[]
  readonly timeout?: string
  readonly updateOnChangeOnly?: boolean
  /** Further fields of the configuration. */
  readonly config?: Fields
  readonly target?: string
}

/** An item of an Execution that applies manifests. */
export function manifestItem({ name, manifests, config, target = 'here', ...options }: ManifestItem) {
  return {
    name,
    type: MANIFEST_TYPE,
    target: { name: target },
    config: {
      apiVersion: CONFIG_API,
      kind: 'ProviderConfiguration',
      manifests: manifests.map((manifest) => ({ manifest })),
      ...config,
    },
    ...options,
  }
}

/** An Execution that is to be started by `start`. */
function manifestExecution(name: string, items: readonly ManifestItem[]) {
  return { apiVersion: API, kind: 'Execution', metadata: { name }, spec: { deployItems: items.map(manifestItem) } }
}

/** Creates an Execution and gives it a job, as its Installation would. */
export async function start(cluster: Cluster, name: string, items: readonly ManifestItem[]): Promise<void> {
  await cluster.create(manifestExecution(name, items), 'executions')
  await trigger(cluster, name, `${name}-1`)
}

export async function trigger(cluster: Cluster, name: string, jobID: string): Promise<void> {
  await cluster.patch('executions', name, { status: { jobID } }, 'status')
}

export function configMap(name: string, namespace: string, data: Readonly<Record<string, string>> = { key: 'value' }) {
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace }, data }
}

export function deployment(name: string, namespace: string, spec: Fields = {}) {
  const labels = { app: name }
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name, namespace },
    spec: {
      replicas: 2,
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers: [{ name: 'main', image: 'example/app:1' }] } },
      ...spec,
    },
  }
}
