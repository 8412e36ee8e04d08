// `kubectl delete namespace` with an Installation, its Targets and their Secrets, in each state of the Installation. Kubernetes' namespace controller
// deletes all objects at once, in its own order. What the Installation deploys is in another namespace. Source: docs/guides/delete.md "Deleting a namespace".

import { readFile } from 'node:fs/promises'
import { describe, expect, it, vi } from 'vitest'

import type { KubeObject, ObjectList } from '../../activities/kube/client.ts'
import { isNotFound } from '../../activities/kube/errors.ts'
import { IN_USE_FINALIZER, PAUSED_ANNOTATION } from '../../workflows/landscaper/contract.ts'
import { API, type Cluster, installation, type LsObject } from '../support/cluster/cluster.ts'
import {
  configMap,
  createTarget,
  deployment,
  type ManifestItem,
  manifestItem,
  TARGET_TYPE,
} from '../support/landscaper/manifests.ts'
import { Deployer } from '../support/landscaper/deployer.ts'
import { deploying as deployingItems, sub, subsOf } from '../support/landscaper/sub-installations.ts'
import { useTenants } from '../support/tenants/tenants.ts'

const OUTSIDE = 'outside'
const NAMESPACES = [
  'simple',
  'deep',
  'siblings',
  'paused',
  'at-work',
  'unreachable',
  'worker-killed',
  'bridge-killed',
  'external',
  'own',
  'elsewhere',
] as const
type Namespace = (typeof NAMESPACES)[number]
const tenants = useTenants('namespace-deletion', [...NAMESPACES, OUTSIDE])

const SOON = { timeout: 30_000, interval: 200 }
const IMPORTS = { imports: [{ name: 'cluster', type: 'target', targetType: TARGET_TYPE }] }
const TAKEN = { imports: { targets: [{ name: 'cluster', target: 'cluster' }] } }

/** Of a blueprint: an item that deploys to the imported Target. */
function deploying(manifests: ManifestItem['manifests'], more: object = {}) {
  const item = { ...manifestItem({ name: 'only', manifests }), ...more, target: { import: 'cluster' } }
  const template = JSON.stringify({ deployItems: [item] })
  return { ...IMPORTS, deployExecutions: [{ name: 'items', type: 'GoTemplate', template }] }
}

/** Of a blueprint: an item that deploys one ConfigMap outside of the namespace. */
const mapping = (namespace: Namespace, name = 'map') => deploying([configMap(`${namespace}-${name}`, OUTSIDE)])

function root(name: string, blueprint: object) {
  const spec = { imports: { targets: [{ name: 'cluster', target: 'theirs' }] } }
  return installation(name, [], { spec, blueprint })
}

/** The Target `theirs` with its Secret `access`. */
async function makeTarget(cluster: Cluster, kubeconfig: string): Promise<void> {
  const secret = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'access' }, stringData: { kubeconfig } }
  await cluster.create(secret, 'secrets')
  const spec = { type: TARGET_TYPE, secretRef: { name: 'access', key: 'kubeconfig' } }
  await cluster.create({ apiVersion: API, kind: 'Target', metadata: { name: 'theirs' }, spec }, 'targets')
}

const adminAccess = async () => await readFile(tenants.kubeconfigPath, 'utf8')

async function install(namespace: Namespace, object: ReturnType<typeof root>): Promise<Cluster> {
  const cluster = tenants.of(namespace)
  await makeTarget(cluster, await adminAccess())
  await cluster.create(object, 'installations')
  expect((await cluster.waitUntilFinished(object.metadata.name)).status).toMatchObject({ phase: 'Succeeded' })
  return cluster
}

const namespacePath = (namespace: Namespace) => `/api/v1/namespaces/${namespace}`

async function removeNamespace(namespace: Namespace): Promise<void> {
  await tenants.of(OUTSIDE).kube.request('DELETE', namespacePath(namespace))
}

/** The namespace is gone, nothing of it is left outside, and no run, wake or open job. */
async function gone(namespace: Namespace): Promise<void> {
  const { kube } = tenants.of(OUTSIDE)
  await vi.waitFor(async () => {
    const found = await kube.request<KubeObject>('GET', namespacePath(namespace)).catch((error: unknown) => {
      if (isNotFound(error)) return undefined
      throw error
    })
    expect(found?.['status']).toBeUndefined()
  }, SOON)
  const { items } = await kube.request<ObjectList>('GET', `/api/v1/namespaces/${OUTSIDE}/configmaps`)
  expect(items.map(({ metadata }) => metadata.name).filter((name) => name.startsWith(`${namespace}-`))).toEqual([])
  await vi.waitFor(async () => {
    const { db } = tenants.pawl
    const wakes = await db.selectFrom('wake').select('name').where('namespace', '=', namespace).execute()
    const jobs = db.selectFrom('job').select('name').where('namespace', '=', namespace).where('outcome', 'is', null)
    expect({ wakes, jobs: await jobs.execute() }).toEqual({ wakes: [], jobs: [] })
  }, SOON)
}

/**
 * Deletes the account before the namespace, so that no uninstall is faster than Kubernetes. The API server accepts a
 * token for 10 s after the deletion of its account, because it caches authentications. The new version of the Target
 * makes Pawl request a new token.
 */
async function removeAccount(cluster: Cluster): Promise<void> {
  await cluster.kube.request('DELETE', `/api/v1/namespaces/${cluster.namespace}/serviceaccounts/theirs`)
  await cluster.patch('targets', 'theirs', { metadata: { labels: { version: 'new' } } })
}

const isHeld = ({ metadata }: LsObject) => (metadata.finalizers ?? []).includes(IN_USE_FINALIZER)

/** The names of Targets and Secrets that have the finalizer. */
async function heldIn(cluster: Cluster): Promise<readonly string[]> {
  const all = [...(await cluster.list('targets')), ...(await cluster.list('secrets', 'v1'))]
  return all.filter(isHeld).map(({ metadata }) => metadata.name)
}

describe.concurrent('a namespace that is deleted with an installation', () => {
  it('is gone with all deployed objects; only the Target and the Secret in use had the finalizer', async () => {
    const cluster = await install('simple', root('app', mapping('simple')))
    const unused = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'unused' }, stringData: { key: 'value' } }
    await cluster.create(unused, 'secrets')
    expect((await heldIn(cluster)).toSorted()).toEqual(['access', 'theirs'])
    await removeNamespace('simple')
    await gone('simple')
  })

  it('is gone when sub-installations are three levels deep', async () => {
    const inner = sub('inner', { ...TAKEN, blueprint: mapping('deep', 'low') })
    const middle = sub('middle', { ...TAKEN, blueprint: { ...mapping('deep', 'mid'), subinstallations: [inner] } })
    const outer = sub('outer', { ...TAKEN, blueprint: { ...mapping('deep', 'high'), subinstallations: [middle] } })
    const cluster = await install('deep', root('app', { ...mapping('deep', 'top'), subinstallations: [outer] }))
    expect((await subsOf(cluster, 'app')).size).toBe(1)
    await removeNamespace('deep')
    await gone('deep')
  })

  it('is gone when two roots share a Target that a user deletes; an Event names its users, and it stays until the second root is uninstalled', async () => {
    const cluster = await install('siblings', root('one', mapping('siblings', 'one')))
    await cluster.create(root('two', mapping('siblings', 'two')), 'installations')
    expect((await cluster.waitUntilFinished('two')).status).toMatchObject({ phase: 'Succeeded' })
    await cluster.delete('targets', 'theirs')
    const users = (await cluster.list('deployitems')).map(({ metadata }) => metadata.name).sort()
    await vi.waitFor(async () => {
      const events = (await cluster.list('events', 'v1')) as readonly { reason?: string; message?: string }[]
      const { message } = events.find(({ reason }) => reason === 'TargetInUse') ?? {}
      expect(message).toMatch(new RegExp(`until these deploy items are uninstalled: ${users.join(', ')}$`))
    }, SOON)
    await cluster.delete('installations', 'one')
    await cluster.waitUntilGone('one')
    expect(await heldIn(cluster)).toContain('access')
    await removeNamespace('siblings')
    await gone('siblings')
  })

  it('waits for a paused installation, and is gone when a user resumes it', async () => {
    const cluster = await install('paused', root('app', mapping('paused')))
    const pause = (value: string | null) =>
      cluster.patch('installations', 'app', { metadata: { annotations: { [PAUSED_ANNOTATION]: value } } })
    await pause('inspection')
    await removeNamespace('paused')
    await cluster.waitUntil('targets', 'theirs', (it) => it?.metadata.deletionTimestamp !== undefined)
    await cluster.waitUntil('executions', 'app', (it) => it?.metadata.deletionTimestamp !== undefined)
    expect(await heldIn(cluster)).toHaveLength(2)
    await pause(null)
    await gone('paused')
  })

  it('is gone when the job that runs has ended by its time-out', async () => {
    const cluster = tenants.of('at-work')
    await makeTarget(cluster, await adminAccess())
    const template = {
      metadata: { labels: { app: 'never' } },
      spec: { nodeSelector: { nowhere: 'true' }, containers: [{ name: 'main', image: 'example/app:1' }] },
    }
    const never = deployment('never', OUTSIDE, { template, selector: { matchLabels: { app: 'never' } } })
    const manifests = [configMap('at-work-map', OUTSIDE), never]
    await cluster.create(root('app', deploying(manifests, { timeout: '8s' })), 'installations')
    await vi.waitFor(async () => expect(await heldIn(cluster)).toHaveLength(2), SOON)
    await removeNamespace('at-work')
    await gone('at-work')
    expect(await tenants.of(OUTSIDE).get('deployments', 'never', 'apps/v1')).toBeUndefined()
  })

  it('waits for a target that does not answer, and is gone when a user deletes it without uninstalling', async () => {
    const cluster = await install('unreachable', root('app', mapping('unreachable')))
    const kubeconfig = (await adminAccess()).replace(/https:\/\/127\.0\.0\.1:\d+/, 'https://127.0.0.1:1')
    await cluster.kube.request('PATCH', `${namespacePath('unreachable')}/secrets/access`, {
      body: { stringData: { kubeconfig } },
      contentType: 'application/merge-patch+json',
    })
    await removeNamespace('unreachable')
    await cluster.waitUntil('installations', 'app', (it) => it?.status?.phase === 'Deleting')
    await vi.waitFor(async () => {
      const [item] = (await cluster.items('app')).values()
      expect(item?.status?.lastError).toBeDefined()
    }, SOON)
    expect(await heldIn(cluster)).toHaveLength(2)
    const annotations = {
      'landscaper.gardener.cloud/delete-without-uninstall': 'true',
      'landscaper.gardener.cloud/operation': 'interrupt',
    }
    await cluster.patch('installations', 'app', { metadata: { annotations } })
    await cluster.waitUntil('installations', 'app', (it) => it === undefined || it.status?.phase === 'DeleteFailed')
    await cluster.trigger('app').catch((error: unknown) => {
      if (!isNotFound(error)) throw error
    })
    await tenants.of(OUTSIDE).kube.request('DELETE', `/api/v1/namespaces/${OUTSIDE}/configmaps/unreachable-map`)
    await gone('unreachable')
  })

  it('is gone when the ServiceAccount of its Target goes with it, and all objects are in the namespace', async () => {
    const cluster = tenants.of('own')
    await createTarget(cluster, 'theirs')
    const blueprint = deploying([configMap('own-map', 'own')])
    await cluster.create(root('app', blueprint), 'installations')
    expect((await cluster.waitUntilFinished('app')).status).toMatchObject({ phase: 'Succeeded' })
    await removeAccount(cluster)
    await removeNamespace('own')
    await gone('own')
  })

  it('stays when the ServiceAccount of its Target goes with it, and names the objects elsewhere', async () => {
    const cluster = tenants.of('elsewhere')
    const { kube } = cluster
    await createTarget(cluster, 'theirs')
    const subjects = [{ kind: 'ServiceAccount', name: 'theirs', namespace: 'elsewhere' }]
    const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'admin' }
    const path = `/apis/rbac.authorization.k8s.io/v1/namespaces/${OUTSIDE}/rolebindings`
    await kube.request('POST', path, { body: { metadata: { name: 'elsewhere' }, roleRef, subjects } })
    await cluster.create(root('app', mapping('elsewhere')), 'installations')
    expect((await cluster.waitUntilFinished('app')).status).toMatchObject({ phase: 'Succeeded' })
    await removeAccount(cluster)
    await removeNamespace('elsewhere')
    const failed = await cluster.waitUntil('installations', 'app', (it) => it?.status?.phase === 'DeleteFailed')
    const [item] = (await cluster.items('app')).values()
    expect(item?.status?.lastError).toMatchObject({ reason: 'NamespaceTerminating' })
    expect(item?.status?.lastError?.message).toContain('ConfigMap outside/elsewhere-map')
    expect(failed.status?.lastError?.message).toContain('elsewhere-map')
    await kube.request('DELETE', `/api/v1/namespaces/${OUTSIDE}/configmaps/elsewhere-map`)
    const annotations = {
      'landscaper.gardener.cloud/delete-without-uninstall': 'true',
      'landscaper.gardener.cloud/operation': 'reconcile',
    }
    await cluster.patch('installations', 'app', { metadata: { annotations } })
    await gone('elsewhere')
  })

  it('waits for an item of an external deployer, and is gone when that deployer has uninstalled it', async () => {
    const cluster = tenants.of('external')
    const deployer = Deployer.start(cluster, 'test/external', { uninstall: () => 'wait' })
    await install('external', root('app', { ...IMPORTS, ...deployingItems({ name: 'only', type: 'test/external' }) }))
    await removeNamespace('external')
    const [item] = (await cluster.items('app')).keys()
    expect(item).toBe('only')
    await cluster.waitUntilItems('app', ['only'], (it) => it?.status?.phase === 'Deleting')
    deployer.uninstall = () => 'done'
    await gone('external')
    await deployer.stop()
  })

  it.each(['worker', 'bridge'] as const)('is gone when the %s is killed while it uninstalls', async (part) => {
    const namespace = `${part}-killed` as const
    const cluster = await install(namespace, root('app', mapping(namespace)))
    const { pawl } = tenants
    await removeNamespace(namespace)
    await cluster.waitUntil('installations', 'app', (it) => it === undefined || it.status?.phase !== 'Succeeded')
    await pawl.kill(part)
    await (part === 'worker' ? pawl.startWorker() : pawl.startBridge())
    await gone(namespace)
  })
})
