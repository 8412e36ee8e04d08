// Tests deploy/api.yaml: its objects match each other, API servers accept them, and the command line finds the Service.
// api.test.ts uses the role of deploy/rbac/api.yaml.

import { readFile } from 'node:fs/promises'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { parseAllDocuments } from 'yaml'

import { resourcePath } from '../../activities/kube/resource-path.ts'
import { API_FLAGS, apiSettings } from '../../worker/api/flags.ts'
import { apiAddressOf, API_CONFIG_MAP } from '../../worker/cli/api-place.ts'
import { readConfig } from '../../worker/server/config.ts'
import { givenFlags } from '../../worker/server/flags.ts'
import { Cluster } from '../support/cluster/cluster.ts'
import { type ShippedObject, shippedObjects } from '../support/pawl/webhook.ts'

interface Probe {
  readonly httpGet: { readonly port: string }
}
interface Pod {
  readonly metadata: { readonly labels: object }
  readonly spec: {
    readonly serviceAccountName: string
    readonly containers: readonly [
      {
        readonly args: readonly string[]
        readonly env: readonly { readonly name: string }[]
        readonly ports: readonly { readonly name: string; readonly containerPort: number }[]
        readonly readinessProbe: Probe
        readonly livenessProbe: Probe
        readonly volumeMounts: readonly { readonly name: string; readonly mountPath: string }[]
      },
    ]
    readonly volumes: readonly { readonly name: string }[]
  }
}

const plural = (kind: string) => (kind === 'PodDisruptionBudget' ? 'poddisruptionbudgets' : `${kind.toLowerCase()}s`)

const cluster = new Cluster(inject('servers').kubeconfigPath, 'pawl-api-manifest')
beforeAll(() => cluster.createNamespace())
afterAll(() => cluster.kube.close())

describe('the manifest of pawl api', async () => {
  const objects = await shippedObjects('api.yaml')
  const named = (kind: string, name: string) =>
    objects.find((object) => object.kind === kind && object.metadata.name === name) as ShippedObject
  const pod = named('Deployment', 'pawl-api').spec?.['template'] as Pod
  const [container] = pod.spec.containers
  const url = 'postgresql://reader@journal.example/pawl'
  const config = { ...readConfig({ HOME: '/nowhere' }), databaseUrl: url }
  const settings = apiSettings(givenFlags(API_FLAGS, container.args.slice(1)), config)
  const portCalled = (name: string) => container.ports.find((port) => port.name === name)?.containerPort
  const { service } = (named('ConfigMap', 'pawl-api') as { readonly data?: { readonly service: string } }).data ?? {}

  it('is accepted by the API server with strict field validation', async () => {
    for (const object of objects) {
      const { apiVersion, kind, metadata } = object
      // The test server has no namespace `pawl`; kube-public exists in every cluster.
      const namespace = metadata.namespace === 'pawl' ? cluster.namespace : metadata.namespace
      const body = { ...object, metadata: { ...metadata, ...(namespace !== undefined && { namespace }) } }
      const query = { dryRun: 'All', fieldValidation: 'Strict' }
      const path = resourcePath({ apiVersion, plural: plural(kind) }, namespace)
      await cluster.kube.request('POST', path, { body, query })
    }
  })

  it('has a Service and probes that use the ports on which pawl api listens', () => {
    expect(container.args[0]).toBe('api')
    expect(container.env.map(({ name }) => name)).toEqual(['PAWL_DATABASE_URL'])
    expect(settings).toMatchObject({ host: '0.0.0.0', healthHost: '0.0.0.0', databaseUrl: url })
    expect(named('Service', 'pawl-api').spec).toEqual({
      selector: pod.metadata.labels,
      ports: [{ name: 'https', port: 443, targetPort: 'https' }],
    })
    expect(portCalled('https')).toBe(settings.port)
    for (const probe of [container.readinessProbe, container.livenessProbe])
      expect(portCalled(probe.httpGet.port)).toBe(settings.healthPort)
    expect(container.volumeMounts).toMatchObject([{ name: 'certificates', mountPath: settings.certificateDir }])
    expect(pod.spec.volumes).toMatchObject([{ name: 'certificates' }])
    // Kubernetes' default grace period, which the manifest does not change.
    expect(settings.drainMs).toBeLessThan(30_000)
  })

  it('binds the role of deploy/rbac/api.yaml to the ServiceAccount of its pods', async () => {
    const text = await readFile(new URL('../../deploy/rbac/api.yaml', import.meta.url), 'utf8')
    const roles = parseAllDocuments(text).map((role) => (role.toJS() as ShippedObject).metadata.name)
    const { name, namespace } = named('ServiceAccount', 'pawl-api').metadata
    const { roleRef, subjects } = named('ClusterRoleBinding', 'pawl-api')
    expect(roles).toEqual([roleRef?.name])
    expect(subjects).toEqual([{ kind: 'ServiceAccount', name, namespace }])
    expect(pod.spec.serviceAccountName).toBe(name)
  })

  it('names its Service in the ConfigMap that the command line reads, and lets authenticated users only read that ConfigMap and call that Service', () => {
    expect(named('ConfigMap', 'pawl-api').metadata).toEqual({ ...API_CONFIG_MAP })
    expect(apiAddressOf(undefined, service, '--')).toEqual(named('Service', 'pawl-api').metadata)
    expect(named('Role', 'pawl-api-users')).toMatchObject({
      metadata: { namespace: 'pawl' },
      rules: [
        { apiGroups: [''], resources: ['services/proxy'], resourceNames: ['https:pawl-api:443'], verbs: ['create'] },
      ],
    })
    expect(named('Role', 'pawl-api-finders')).toMatchObject({
      metadata: { namespace: API_CONFIG_MAP.namespace },
      rules: [{ apiGroups: [''], resources: ['configmaps'], resourceNames: [API_CONFIG_MAP.name], verbs: ['get'] }],
    })
    for (const name of ['pawl-api-users', 'pawl-api-finders'])
      expect(named('RoleBinding', name)).toMatchObject({
        metadata: { namespace: named('Role', name).metadata.namespace },
        roleRef: { kind: 'Role', name },
        subjects: [{ kind: 'Group', name: 'system:authenticated' }],
      })
  })
})
