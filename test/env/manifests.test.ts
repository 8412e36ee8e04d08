// Tests deploy/webhook.yaml and deploy/api.yaml: API servers accept their objects, which match each other and the settings
// of the processes that they start. webhook.test.ts and api.test.ts use the roles of deploy/rbac/.

import { readFile } from 'node:fs/promises'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { parseAllDocuments } from 'yaml'

import { resourcePath } from '../../activities/kube/resource-path.ts'
import { API_FLAGS, apiSettings } from '../../worker/api/flags.ts'
import { apiAddressOf, API_CONFIG_MAP } from '../../worker/cli/api-place.ts'
import { readConfig } from '../../worker/server/config.ts'
import { givenFlags } from '../../worker/server/flags.ts'
import { WEBHOOK_FLAGS, webhookSettings } from '../../worker/webhook/flags.ts'
import { Cluster } from '../support/cluster/cluster.ts'
import { type ShippedObject, shippedObjects } from '../support/pawl/webhook.ts'

interface Probe {
  readonly httpGet: { readonly port: string }
}
interface Container {
  readonly args: readonly string[]
  readonly env?: readonly { readonly name: string }[]
  readonly ports: readonly { readonly name: string; readonly containerPort: number }[]
  readonly readinessProbe: Probe
  readonly livenessProbe: Probe
  readonly volumeMounts?: readonly { readonly name: string; readonly mountPath: string }[]
}
interface Pod {
  readonly metadata: { readonly labels: object }
  readonly spec: {
    readonly serviceAccountName: string
    readonly containers: readonly [Container]
    readonly volumes?: readonly { readonly name: string }[]
  }
}

const DATABASE_URL = 'postgresql://reader@journal.example/pawl'
const CONFIG = { ...readConfig({ HOME: '/nowhere' }), databaseUrl: DATABASE_URL }
const plural = (kind: string) => (kind === 'PodDisruptionBudget' ? 'poddisruptionbudgets' : `${kind.toLowerCase()}s`)

const cluster = new Cluster(inject('servers').kubeconfigPath, 'manifests')
beforeAll(() => cluster.createNamespace())
afterAll(() => cluster.kube.close())

async function manifest(process: 'webhook' | 'api') {
  const objects = await shippedObjects(`${process}.yaml`)
  const named = (kind: string, name = `pawl-${process}`) =>
    objects.find((object) => object.kind === kind && object.metadata.name === name) as ShippedObject
  const pod = named('Deployment').spec?.['template'] as Pod
  return { objects, named, pod, container: pod.spec.containers[0] }
}
const [webhook, api] = await Promise.all([manifest('webhook'), manifest('api')])
const settings = {
  webhook: webhookSettings(givenFlags(WEBHOOK_FLAGS, webhook.container.args.slice(1)), CONFIG),
  api: apiSettings(givenFlags(API_FLAGS, api.container.args.slice(1)), CONFIG),
}

describe.each([
  ['webhook', webhook],
  ['api', api],
] as const)('the manifest of pawl %s', (process, { objects, named, pod, container }) => {
  const { port, healthPort, healthHost, drainMs } = settings[process]

  it('is accepted by the API server with strict field validation', async () => {
    for (const object of objects) {
      const { apiVersion, kind } = object
      // The test of the chart creates the namespace `pawl` in the same cluster.
      const namespace = object.metadata.namespace?.replace(/^pawl$/, cluster.namespace)
      const body = { ...object, metadata: { ...object.metadata, namespace } }
      const query = { dryRun: 'All', fieldValidation: 'Strict' }
      await cluster.kube.request('POST', resourcePath({ apiVersion, plural: plural(kind) }, namespace), { body, query })
    }
  })

  it('starts the process on the ports of the Service and of the probes, with enough time to drain', () => {
    const portNamed = (name: string) => container.ports.find((one) => one.name === name)?.containerPort
    expect(container.args[0]).toBe(process)
    expect(named('Service').spec).toEqual({
      selector: pod.metadata.labels,
      ports: [{ name: 'https', port: 443, targetPort: 'https' }],
    })
    expect(portNamed('https')).toBe(port)
    for (const probe of [container.readinessProbe, container.livenessProbe])
      expect(portNamed(probe.httpGet.port)).toBe(healthPort)
    expect(healthHost).toBe('0.0.0.0')
    // Kubernetes' default terminationGracePeriodSeconds is 30 s; the manifests do not change it.
    expect(drainMs).toBeLessThan(30_000)
  })

  it('binds the roles of deploy/rbac/ to the ServiceAccount of its pods', async () => {
    const text = await readFile(new URL(`../../deploy/rbac/${process}.yaml`, import.meta.url), 'utf8')
    const roles = parseAllDocuments(text).map((role) => (role.toJS() as ShippedObject).metadata.name)
    const { name, namespace } = named('ServiceAccount').metadata
    const bindings = objects.filter(({ subjects = [] }) => JSON.stringify(subjects).includes('ServiceAccount'))
    for (const { subjects } of bindings) expect(subjects).toEqual([{ kind: 'ServiceAccount', name, namespace }])
    expect(bindings.map(({ roleRef }) => roleRef?.name)).toEqual(roles)
    expect(pod.spec.serviceAccountName).toBe(name)
  })
})

describe('the manifest of pawl webhook', () => {
  it('names its Service, and stores the certificates in the namespace of its RoleBinding', () => {
    const { name, namespace } = webhook.named('Service').metadata
    const binding = webhook.objects.find(({ kind }) => kind === 'RoleBinding')
    expect(settings.webhook).toMatchObject({
      address: { service: { name, namespace } },
      certificates: { secret: { namespace: binding?.metadata.namespace } },
    })
    for (const { metadata } of webhook.objects) expect(metadata.namespace ?? 'pawl').toBe('pawl')
  })
})

describe('the manifest of pawl api', () => {
  it('mounts the certificates, and reads the URL of the journal from the environment', () => {
    const { container, pod } = api
    expect(container.env?.map(({ name }) => name)).toEqual(['PAWL_DATABASE_URL'])
    expect(settings.api).toMatchObject({ host: '0.0.0.0', databaseUrl: DATABASE_URL })
    expect(container.volumeMounts).toMatchObject([{ name: 'certificates', mountPath: settings.api.certificateDir }])
    expect(pod.spec.volumes).toMatchObject([{ name: 'certificates' }])
  })

  it('names its Service in the ConfigMap that the command line reads, and lets authenticated users only read that ConfigMap and call that Service', () => {
    const { named } = api
    const { metadata, data } = named('ConfigMap') as ShippedObject & { readonly data?: { readonly service: string } }
    expect(metadata).toEqual({ ...API_CONFIG_MAP })
    expect(apiAddressOf(undefined, data?.service, '--')).toEqual(named('Service').metadata)
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
