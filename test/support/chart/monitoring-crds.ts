// Minimal CRDs of Prometheus' operator: the API server accepts any fields. They test names, groups and paths of the
// chart's objects, not the fields.

import { vi } from 'vitest'

import type { KubeClient } from '../../../activities/kube/client.ts'
import { resourcePath } from '../../../activities/kube/resource-path.ts'

const GROUP = 'monitoring.coreos.com'
const KINDS = { PodMonitor: 'podmonitors', PrometheusRule: 'prometheusrules' } as const
const DEFINITIONS = { apiVersion: 'apiextensions.k8s.io/v1', plural: 'customresourcedefinitions' }

type Kube = Pick<KubeClient, 'request'>

/** Installs the CRDs and waits until the API server serves them. */
export async function installMonitoringCrds(kube: Kube): Promise<void> {
  for (const [kind, plural] of Object.entries(KINDS)) {
    const schema = { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } }
    const spec = {
      group: GROUP,
      scope: 'Namespaced',
      names: { kind, plural, singular: kind.toLowerCase() },
      versions: [{ name: 'v1', served: true, storage: true, schema }],
    }
    await kube.request('POST', resourcePath(DEFINITIONS, undefined), {
      body: {
        apiVersion: DEFINITIONS.apiVersion,
        kind: 'CustomResourceDefinition',
        metadata: { name: `${plural}.${GROUP}` },
        spec,
      },
    })
  }
  await vi.waitFor(async () => {
    for (const plural of Object.values(KINDS))
      await kube.request('GET', resourcePath({ apiVersion: `${GROUP}/v1`, plural }, 'default'))
  }, 20_000)
}

export async function removeMonitoringCrds(kube: Kube): Promise<void> {
  for (const plural of Object.values(KINDS))
    await kube.request('DELETE', resourcePath(DEFINITIONS, undefined, `${plural}.${GROUP}`))
}
