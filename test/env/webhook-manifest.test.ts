// The manifest deploy/webhook.yaml: its objects match each other, and the API server accepts it. webhook.test.ts uses
// its ServiceAccount.

import { readFile } from 'node:fs/promises'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { parseAllDocuments } from 'yaml'

import { resourcePath } from '../../activities/kube/resource-path.ts'
import { readConfig } from '../../worker/server/config.ts'
import { givenFlags } from '../../worker/server/flags.ts'
import { WEBHOOK_FLAGS, webhookSettings } from '../../worker/webhook/flags.ts'
import { Cluster } from '../support/cluster/cluster.ts'
import { shippedObjects } from '../support/pawl/webhook.ts'

interface Probe {
  readonly httpGet: { readonly port: string }
}
interface Container {
  readonly args: readonly string[]
  readonly ports: readonly { readonly name: string; readonly containerPort: number }[]
  readonly readinessProbe: Probe
  readonly livenessProbe: Probe
}

const PLURALS: Readonly<Record<string, string>> = {
  ServiceAccount: 'serviceaccounts',
  ClusterRoleBinding: 'clusterrolebindings',
  RoleBinding: 'rolebindings',
  Service: 'services',
  PodDisruptionBudget: 'poddisruptionbudgets',
  Deployment: 'deployments',
}

const cluster = new Cluster(inject('servers').kubeconfigPath, 'pawl')
beforeAll(() => cluster.createNamespace())
afterAll(() => cluster.kube.close())

describe('the manifest of the webhook', async () => {
  const objects = await shippedObjects('webhook.yaml')
  const one = (kind: string) => objects.find((object) => object.kind === kind)
  const pod = one('Deployment')?.spec?.['template'] as {
    readonly metadata: { readonly labels: object }
    readonly spec: { readonly serviceAccountName: string; readonly containers: readonly [Container] }
  }
  const [container] = pod.spec.containers
  const settings = webhookSettings(givenFlags(WEBHOOK_FLAGS, container.args.slice(1)), readConfig({ HOME: '/nowhere' }))
  const portCalled = (name: string) => container.ports.find((port) => port.name === name)?.containerPort

  it('is accepted by the API server with strict field validation', async () => {
    for (const object of objects) {
      const { apiVersion, kind, metadata } = object
      const path = resourcePath({ apiVersion, plural: PLURALS[kind] ?? kind }, metadata.namespace)
      const query = { dryRun: 'All', fieldValidation: 'Strict' }
      await cluster.kube.request('POST', path, { body: object, query })
    }
  })

  it('starts a webhook on the ports of the Service and of the probes', () => {
    expect(container.args[0]).toBe('webhook')
    const { name, namespace } = one('Service')?.metadata ?? {}
    expect(settings.address).toEqual({ service: { name, namespace } })
    expect(one('Service')?.spec).toEqual({
      selector: pod.metadata.labels,
      ports: [{ name: 'https', port: 443, targetPort: 'https' }],
    })
    expect(portCalled('https')).toBe(settings.port)
    for (const probe of [container.readinessProbe, container.livenessProbe])
      expect(portCalled(probe.httpGet.port)).toBe(settings.healthPort)
    expect(settings.healthHost).toBe('0.0.0.0')
  })

  it('binds the shipped roles to the ServiceAccount of its pods, in the namespace of its Secret', async () => {
    const text = await readFile(new URL('../../deploy/rbac/webhook.yaml', import.meta.url), 'utf8')
    const roles = parseAllDocuments(text).map((role) => (role.toJS() as { metadata: { name: string } }).metadata.name)
    const bindings = objects.filter(({ kind }) => kind.endsWith('RoleBinding'))
    expect(bindings.map(({ roleRef }) => roleRef?.name)).toEqual(roles)
    const { name, namespace } = one('ServiceAccount')?.metadata ?? {}
    for (const { subjects } of bindings) expect(subjects).toEqual([{ kind: 'ServiceAccount', name, namespace }])
    expect(pod.spec.serviceAccountName).toBe(name)
    expect(settings.certificates).toMatchObject({ secret: { namespace: one('RoleBinding')?.metadata.namespace } })
  })

  it('gives the webhook enough time to drain before its pod is killed', () => {
    // Kubernetes' default terminationGracePeriodSeconds is 30 s; the manifest does not change it.
    expect(settings.drainMs).toBeLessThan(30_000)
    for (const { metadata } of objects) expect(metadata.namespace ?? 'pawl').toBe('pawl')
  })
})
