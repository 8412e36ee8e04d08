// The objects of a load: root Installations with an inline blueprint that renders the deploy items.

import { readFile } from 'node:fs/promises'

import type { KubeClient } from '../../../activities/kube/client.ts'
import { API, installation, item } from '../../support/cluster/cluster.ts'
import { configMap, MANIFEST_TYPE, TARGET_TYPE } from '../../support/landscaper/manifests.ts'

export const DEPLOYERS = ['mock', 'manifest'] as const
export type Deployer = (typeof DEPLOYERS)[number]

/** `wide`: independent items; `chain`: each item depends on the one before it. */
export type Shape = 'wide' | 'chain'

export interface Plan {
  readonly installations: number
  /** The number of items of each Installation. */
  readonly items: number
  readonly shape: Shape
  readonly deployer: Deployer
  /** Over how many namespaces the Installations are spread; default 1. */
  readonly namespaces?: number
}

/** The prefix of the names of deployed ConfigMaps. */
export const DEPLOYED_PREFIX = 'deployed-'

const MOCK_API = 'mock.deployer.landscaper.gardener.cloud/v1alpha1'
const MANIFEST_API = 'manifest.deployer.landscaper.gardener.cloud/v1alpha2'
const TARGET = 'bench-cluster'
const IMPORT = 'cluster'

// A template renders more items than this in a loop, because the list would exceed the size of an object.
const MOST_LISTED = 1000

/** The body of the Installation with this number. */
export function installationBody(plan: Plan, index: number, namespace: string) {
  const isManifest = plan.deployer === 'manifest'
  const body = installation(installationName(index), [], {
    ...(isManifest && { spec: { imports: { targets: [{ name: IMPORT, target: TARGET }] } } }),
    blueprint: {
      ...(isManifest && { imports: [{ name: IMPORT, type: 'target', targetType: TARGET_TYPE }] }),
      deployExecutions: [{ name: 'default', type: 'GoTemplate', template: templateOf(plan, index, namespace) }],
    },
  })
  return { ...body, metadata: { ...body.metadata, namespace } }
}

function templateOf(plan: Plan, index: number, namespace: string): string {
  const { items, shape } = plan
  if (shape === 'wide' && items > MOST_LISTED) {
    const one = JSON.stringify(itemOf(plan, index, '{{ $position }}', namespace))
    return `deployItems:\n{{ range $position := until ${items} }}- ${one}\n{{ end }}`
  }
  const deployItems = Array.from({ length: items }, (_, position) => itemOf(plan, index, position, namespace))
  return JSON.stringify({ deployItems })
}

function installationName(index: number): string {
  return `inst-${index}`
}

/** @param position a number, or the variable of the template's loop. */
function itemOf({ shape, deployer }: Plan, index: number, position: number | string, namespace: string): object {
  const name = `item-${position}`
  const before = shape === 'chain' ? Number(position) - 1 : -1
  const dependsOn = before >= 0 ? { dependsOn: [`item-${before}`] } : {}
  if (deployer === 'mock') {
    const providerStatus = { apiVersion: MOCK_API, kind: 'ProviderStatus', key: name }
    return item({ name, config: { providerStatus }, ...dependsOn })
  }
  const data = { installation: String(index), item: String(position) }
  const manifest = configMap(`${DEPLOYED_PREFIX}${index}-${position}`, namespace, data)
  return {
    name,
    type: MANIFEST_TYPE,
    target: { import: IMPORT },
    config: {
      apiVersion: MANIFEST_API,
      kind: 'ProviderConfiguration',
      updateStrategy: 'update',
      manifests: [{ policy: 'manage', manifest }],
    },
    ...dependsOn,
  }
}

/** The Target of the manifest items: the cluster itself, with the administrator's kubeconfig. */
export async function createTarget(kube: KubeClient, namespace: string, kubeconfigPath: string): Promise<void> {
  const kubeconfig = await readFile(kubeconfigPath, 'utf8')
  await kube.request('POST', `/apis/${API}/namespaces/${namespace}/targets`, {
    body: {
      apiVersion: API,
      kind: 'Target',
      metadata: { name: TARGET, namespace },
      spec: { type: TARGET_TYPE, config: { kubeconfig } },
    },
  })
}
