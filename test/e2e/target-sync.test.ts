// Tests a TargetSync on real servers: it creates Targets from Secrets of another namespace and deletes them at its own
// deletion; items on these Targets are not uninstalled when their Shoot is gone. The API server plays the Gardener
// cluster. Detailed tests: test/env/target-sync.test.ts,
// test/activities/landscaper/execution/removed-clusters.test.ts.

import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it, vi } from 'vitest'
import { shootResource } from '../../activities/landscaper/deploy/target/gardener.ts'
import { resourcePath } from '../../activities/kube/resource-path.ts'
import { API, installation, item, OPERATION } from '../support/cluster/cluster.ts'
import { secret } from '../support/landscaper/imports.ts'
import { historiesOf, journalOf, findLeaks } from '../support/tenants/planted-secret.ts'
import { useStage } from '../support/pawl/stage.ts'

const CANARY = 'canary-4be1f07a22'
const folder = mkdtempSync(join(tmpdir(), 'pawl-target-sync-'))
afterAll(() => rmSync(folder, { recursive: true }))

const stage = useStage('target-sync', () => {
  const ofBoth = ['--target-sync', 'yes', '--content-key', join(folder, 'content.key')]
  return Promise.resolve({ bridgeFlags: ofBoth, workerFlags: ofBoth })
})

/** A namespace with kubeconfigs in Secrets. */
class Source {
  readonly namespace: string
  constructor(name: string) {
    this.namespace = `${stage.cluster.namespace}-${name}`
  }

  async create(): Promise<void> {
    await this.#request('POST', '/api/v1/namespaces', { metadata: { name: this.namespace } })
  }

  async offer(name: string): Promise<void> {
    await this.#request('POST', this.#secrets, { metadata: { name }, stringData: { kubeconfig: CANARY } })
  }

  async withdraw(name: string): Promise<void> {
    await this.#request('DELETE', `${this.#secrets}/${name}`)
  }

  async delete(): Promise<void> {
    await this.#request('DELETE', `/api/v1/namespaces/${this.namespace}`)
  }

  /** A TargetSync that creates Targets from these Secrets. */
  get sync() {
    const spec = {
      sourceNamespace: this.namespace,
      secretRef: { name: 'access' },
      secretNameExpression: '\\.kubeconfig$',
    }
    return { apiVersion: API, kind: 'TargetSync', metadata: { name: 'sync' }, spec }
  }

  get #secrets(): string {
    return `/api/v1/namespaces/${this.namespace}/secrets`
  }

  async #request(verb: 'POST' | 'DELETE', path: string, body?: object): Promise<void> {
    await stage.cluster.kube.request(verb, path, body === undefined ? {} : { body })
  }
}

const names = async (plural: string, apiVersion = API) =>
  (await stage.cluster.list(plural, apiVersion)).map(({ metadata }) => metadata.name).sort()

describe('a TargetSync', () => {
  it('syncs Targets from the Secrets of its source namespace, leaks no Secret content, gives no task to a worker without --target-sync, and deletes the Targets at its own deletion', async () => {
    const { cluster, pawl, servers } = stage
    // A worker that got a task without having the activity would fail it with "not registered".
    await pawl.startWorker('other', undefined, ['--target-sync', 'no'])
    const source = new Source('source')
    await source.create()
    await source.offer('berry.kubeconfig')
    await source.offer('berry.token')
    await cluster.create(secret('access', { kubeconfig: readFileSync(servers.kubeconfigPath, 'utf8') }), 'secrets')
    await cluster.create(source.sync, 'targetsyncs')

    const synced = await cluster.waitUntil(
      'targetsyncs',
      'sync',
      (one) => one?.status?.['lastUpdateTime'] !== undefined,
    )
    expect(synced.status).toMatchObject({ observedGeneration: 1 })
    expect(synced.status?.['lastErrors'] ?? []).toEqual([])
    expect(await names('targets')).toEqual(['berry.kubeconfig'])

    await source.withdraw('berry.kubeconfig')
    await source.offer('cherry.kubeconfig')
    await cluster.patch('targetsyncs', 'sync', { metadata: { annotations: { [OPERATION]: 'reconcile' } } })
    await cluster.waitUntil('targetsyncs', 'sync', (one) => one?.metadata.annotations?.[OPERATION] === undefined)
    expect(await names('targets')).toEqual(['cherry.kubeconfig'])

    const dumps = await Promise.all([journalOf(pawl), historiesOf(pawl, cluster, 1)])
    for (const dump of dumps) {
      expect(dump).toContain('sync')
      expect(dump).not.toContain('not registered')
      expect(findLeaks(dump, CANARY)).toEqual([])
    }
    await cluster.delete('targetsyncs', 'sync')
    await cluster.waitUntil('targetsyncs', 'sync', (one) => one === undefined)
    expect(await names('targets')).toEqual([])
    expect(await names('secrets', 'v1')).toEqual(['access'])
    await source.delete()
  })
})

const DEFINITIONS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'
const SHOOTS = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'shoots.core.gardener.cloud' },
  spec: {
    group: 'core.gardener.cloud',
    scope: 'Namespaced',
    names: { plural: 'shoots', singular: 'shoot', kind: 'Shoot', listKind: 'ShootList' },
    versions: [{ name: 'v1beta1', served: true, storage: true, schema: { openAPIV3Schema: { type: 'object' } } }],
  },
}
const CLUSTER_TYPE = 'landscaper.gardener.cloud/kubernetes-cluster'
const [GONE, ALIVE] = ['berry', 'cherry']

interface KubeEvent {
  readonly reason: string
  readonly message: string
  readonly involvedObject: { readonly uid: string }
}

/**
 * Creates the namespace of a project with two Shoots, and a Secret with a kubeconfig for each Shoot. No client connects
 * to the servers of these kubeconfigs.
 */
async function makeProject(project: string): Promise<void> {
  const { kube } = stage.cluster
  await kube.request('POST', '/api/v1/namespaces', { body: { metadata: { name: project } } })
  await kube.request('POST', DEFINITIONS, { body: SHOOTS })
  await vi.waitFor(async () => await kube.request('GET', resourcePath(shootResource, project)), { timeout: 60_000 })
  for (const name of [GONE, ALIVE]) {
    const body = { apiVersion: shootResource.apiVersion, kind: 'Shoot', metadata: { name } }
    await kube.request('POST', resourcePath(shootResource, project), { body })
    const server = `https://api.${name}.project.example.org`
    const kubeconfig = JSON.stringify({
      apiVersion: 'v1',
      kind: 'Config',
      'current-context': 'one',
      contexts: [{ name: 'one', context: { cluster: 'one', user: 'one' } }],
      clusters: [{ name: 'one', cluster: { server } }],
      users: [{ name: 'one', user: { token: CANARY } }],
    })
    const secret = { metadata: { name: `${name}.kubeconfig` }, stringData: { kubeconfig } }
    await kube.request('POST', `/api/v1/namespaces/${project}/secrets`, { body: secret })
  }
}

/** An Installation with an item on each Shoot. Pawl may remove an item without uninstalling it if its Shoot is gone. */
function onBoth(name: string) {
  const imports = [GONE, ALIVE].map((shoot) => ({ name: shoot, type: 'target', targetType: CLUSTER_TYPE }))
  const deployItems = [GONE, ALIVE].map((shoot) => ({
    ...item({ name: shoot }),
    target: { import: shoot },
    onDelete: { skipUninstallIfClusterRemoved: true },
  }))
  const deployExecutions = [{ name: 'items', type: 'GoTemplate', template: JSON.stringify({ deployItems }) }]
  const targets = [GONE, ALIVE].map((shoot) => ({ name: shoot, target: `${shoot}.kubeconfig` }))
  return installation(name, [], { blueprint: { imports, deployExecutions }, spec: { imports: { targets } } })
}

describe('the deletion of items whose Shoot is gone', () => {
  it('waits until a TargetSync confirms that the Shoot is gone, removes the items without uninstalling them, emits an Event, and uninstalls the other items', async () => {
    const { cluster, pawl, servers } = stage
    const project = `${cluster.namespace}-project`
    await makeProject(project)
    await cluster.create(secret('garden', { kubeconfig: readFileSync(servers.kubeconfigPath, 'utf8') }), 'secrets')
    const spec = { sourceNamespace: project, secretRef: { name: 'garden' }, secretNameExpression: '*' }
    const sync = { apiVersion: API, kind: 'TargetSync', metadata: { name: 'garden' }, spec }
    await cluster.create(sync, 'targetsyncs')
    await cluster.waitUntil('targetsyncs', 'garden', (one) => one?.status?.['lastUpdateTime'] !== undefined)

    await cluster.create(onBoth('shop'), 'installations')
    expect((await cluster.waitUntilFinished('shop')).status).toMatchObject({ phase: 'Succeeded' })
    const items = await cluster.items('shop')
    const clusterOf = (name: string) => items.get(name)?.metadata.annotations?.['landscaper.gardener.cloud/clustername']
    expect([clusterOf(GONE), clusterOf(ALIVE)]).toEqual([GONE, ALIVE])

    await cluster.kube.request('DELETE', resourcePath(shootResource, project, GONE))
    await cluster.delete('targetsyncs', 'garden')
    await cluster.waitUntilGone('garden', 'targetsyncs')
    await cluster.delete('installations', 'shop')
    await cluster.waitUntil('executions', 'shop', (one) => one?.status?.lastError?.reason === 'ClusterUnknown')
    expect([...(await cluster.items('shop')).keys()].toSorted()).toEqual([GONE, ALIVE])

    await cluster.create(sync, 'targetsyncs')
    await cluster.waitUntilGone('shop')
    const uids = [GONE, ALIVE].map((name) => items.get(name)?.metadata.uid)
    const events = (await cluster.list('events', 'v1')) as unknown as KubeEvent[]
    const told = events.filter(({ reason }) => reason === 'UninstallSkipped')
    expect(told.map(({ involvedObject }) => involvedObject.uid)).toEqual([uids[0]])
    expect(told[0]?.message).toContain(
      `Shoot "${project}/${GONE}" does not exist, according to TargetSync "target-sync/garden"`,
    )
    const actions = pawl.db.selectFrom('action').select('object').where('step', '=', 'releaseItemsOfRemovedClusters')
    expect(await actions.execute()).toHaveLength(1)
    expect(findLeaks(await journalOf(pawl), CANARY)).toEqual([])
    await cluster.kube.request('DELETE', `${DEFINITIONS}/${SHOOTS.metadata.name}`)
    await cluster.kube.request('DELETE', `/api/v1/namespaces/${project}`)
  })
})
