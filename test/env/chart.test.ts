// The Helm chart with real Helm and a real API server: each variant passes Helm's lint, and the API server accepts its
// objects under strict field validation. Its pods pass Pod Security `restricted`.

import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { parseAllDocuments } from 'yaml'

import { resourcePath } from '../../activities/kube/resource-path.ts'
import { PAWL_VERSION } from '../../worker/server/version.ts'
import { CHART_NAMESPACE as NAMESPACE, CHART_VARIANTS } from '../support/chart/variants.ts'
import { installMonitoringCrds, removeMonitoringCrds } from '../support/chart/monitoring-crds.ts'
import { Cluster } from '../support/cluster/cluster.ts'
import { registryBinary } from '../support/registries/registry-binaries.ts'

const CHART = fileURLToPath(new URL('../../deploy/chart', import.meta.url))
const ON = { enabled: true }
const RESTRICTED = { 'pod-security.kubernetes.io/enforce': 'restricted' }
// The plural of each kind of the chart.
const PLURALS: Readonly<Record<string, string>> = {
  ConfigMap: 'configmaps',
  Secret: 'secrets',
  Service: 'services',
  ServiceAccount: 'serviceaccounts',
  Deployment: 'deployments',
  StatefulSet: 'statefulsets',
  Job: 'jobs',
  NetworkPolicy: 'networkpolicies',
  PodDisruptionBudget: 'poddisruptionbudgets',
  HorizontalPodAutoscaler: 'horizontalpodautoscalers',
  Role: 'roles',
  RoleBinding: 'rolebindings',
  ClusterRole: 'clusterroles',
  ClusterRoleBinding: 'clusterrolebindings',
  PodMonitor: 'podmonitors',
  PrometheusRule: 'prometheusrules',
}
interface Manifest {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: { readonly name: string; readonly namespace?: string }
  readonly spec?: { readonly template?: object }
}

const cluster = new Cluster(inject('servers').kubeconfigPath, NAMESPACE)
const { kube } = cluster
let helm: string

// Long, because Helm is built here if it is not in the cache.
beforeAll(async () => {
  await kube.request('POST', '/api/v1/namespaces', { body: { metadata: { name: NAMESPACE, labels: RESTRICTED } } })
  await installMonitoringCrds(kube)
  helm = await registryBinary('helm')
}, 1_800_000)
afterAll(async () => {
  await removeMonitoringCrds(kube)
  await kube.close()
})

async function run(...args: string[]): Promise<string> {
  return (await promisify(execFile)(helm, args)).stdout
}

function valueFlags(values: object): readonly string[] {
  return Object.entries(values).flatMap(([name, value]) => ['--set-json', `${name}=${JSON.stringify(value)}`])
}

async function renderText(values: object): Promise<string> {
  const place = ['--namespace', NAMESPACE, '--kube-version', '1.34.4']
  return await run('template', 'pawl', CHART, ...place, ...valueFlags(values))
}

async function render(values: object): Promise<readonly Manifest[]> {
  const text = await renderText(values)
  return parseAllDocuments(text).flatMap((one) => (one.toJS() === null ? [] : [one.toJS() as Manifest]))
}

async function apply(path: string, body: object): Promise<void> {
  const query = { dryRun: 'All', fieldValidation: 'Strict', fieldManager: 'chart-test', force: 'true' }
  await kube.request('PATCH', path, { body, query, contentType: 'application/apply-patch+yaml' })
}

async function send(path: string, body: object): Promise<void> {
  await kube.request('POST', path, { body, query: { dryRun: 'All', fieldValidation: 'Strict' } })
}

describe('the chart', () => {
  it('has the version of the package', async () => {
    expect(await run('show', 'chart', CHART)).toContain(`\nversion: ${PAWL_VERSION}\n`)
    expect(await run('show', 'chart', CHART)).toContain(`appVersion: ${PAWL_VERSION}\n`)
  })

  it.each(CHART_VARIANTS)('passes lint, strict validation and Pod Security with %j', async (values) => {
    await run('lint', '--strict', CHART, ...valueFlags(values))
    const manifests = await render(values)
    expect(manifests.map(({ kind, metadata }) => `${kind}/${metadata.name}`)).toContain('Deployment/pawl-worker')
    for (const manifest of manifests) {
      const plural = PLURALS[manifest.kind] ?? `unknown kind ${manifest.kind}`
      const { apiVersion, metadata, spec } = manifest
      // Apply, because other test files have created cluster roles of the same names.
      await apply(`${resourcePath({ apiVersion, plural }, metadata.namespace)}/${metadata.name}`, manifest)
      const template = spec?.template
      if (template === undefined) continue
      // Pod Security rejects pods only; Deployments get a warning. The admission of accounts needs an existing account.
      const pod = withoutReferences(template)
      await send(resourcePath({ apiVersion: 'v1', plural: 'pods' }, NAMESPACE), pod)
    }
  })

  it.each<readonly [object, string]>([
    [{ bridge: { replicaz: 3 } }, "at '/bridge': additional properties 'replicaz' not allowed"],
    [{ wings: ['unknown'] }, "at '/wings/0': value must be one of 'chaos', 'foundationdb', 'landscaper'"],
    [{ worker: { replicas: 'two' } }, "at '/worker/replicas': got string, want integer"],
    [{ podDisruptionBudget: null }, "at '': missing property 'podDisruptionBudget'"],
    [{ trial: ON }, "at '/trial/password': minLength: got 0, want 8"],
    [{ wings: [], webhook: ON }, "at '/wings': minItems: got 0, want 1"],
  ])('rejects %j with the name of the value', async (values, message) => {
    await expect(renderText(values)).rejects.toThrow(message)
  })

  it('is not installed while the webhook of another release is called for the same objects', async () => {
    const path = '/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations'
    const name = `landscaper-validation-webhook-${NAMESPACE}`
    const callOf = (namespace: string) => ({
      name: 'a.example.com',
      clientConfig: { service: { namespace, name: 'pawl-webhook' } },
      sideEffects: 'None',
      admissionReviewVersions: ['v1'],
    })
    const values = { webhook: ON, watchNamespace: NAMESPACE }
    const install = async () => {
      const place = ['--namespace', NAMESPACE, '--kubeconfig', inject('servers').kubeconfigPath]
      return await run('install', 'pawl', CHART, '--dry-run=server', ...place, ...valueFlags(values))
    }
    await kube.request('POST', path, { body: { metadata: { name }, webhooks: [callOf('other')] } })
    await expect(install()).rejects.toThrow(
      `values: webhook.enabled: ValidatingWebhookConfiguration ${name} calls the Service other/pawl-webhook, not chart/pawl-webhook; set`,
    )
    const contentType = 'application/merge-patch+json'
    await kube.request('PATCH', `${path}/${name}`, { body: { webhooks: [callOf(NAMESPACE)] }, contentType })
    expect(await install()).toContain(`kubectl delete validatingwebhookconfiguration --ignore-not-found ${name}\n`)
    await kube.request('DELETE', `${path}/${name}`)
  })

  it('has a description for each value', async () => {
    const schema = JSON.parse(await readFile(`${CHART}/values.schema.json`, 'utf8')) as SchemaNode
    expect(undescribed('values', schema)).toEqual([])
  })
})

interface SchemaNode {
  readonly description?: string
  readonly properties?: Readonly<Record<string, SchemaNode>>
}

function undescribed(path: string, { description, properties = {} }: SchemaNode): readonly string[] {
  const own = description?.endsWith('.') === true ? [] : [path]
  return [...own, ...Object.entries(properties).flatMap(([name, node]) => undescribed(`${path}.${name}`, node))]
}

function withoutReferences(template: object): object {
  const { metadata, spec } = template as { metadata: object; spec: Readonly<Record<string, unknown>> }
  const references = ['serviceAccountName', 'priorityClassName']
  const rest = Object.fromEntries(Object.entries(spec).filter(([field]) => !references.includes(field)))
  const volumes = [...((rest['volumes'] ?? []) as object[])]
  const hasData = JSON.stringify(rest).includes('"mountPath":"/data"')
  if (hasData) volumes.push({ name: 'data', emptyDir: {} })
  const automount = { automountServiceAccountToken: false }
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { ...metadata, name: 'one' },
    spec: { ...rest, ...automount, volumes },
  }
}
