// Deploy items that apply manifests, from the Execution to the target and back, on the real servers: the namespace's pods run on kwok's nodes.

import { beforeAll, describe, expect, it } from 'vitest'

import { API, type LsObject, OPERATION } from '../support/cluster/cluster.ts'
import { configMap, createTarget, deployment, manifestItem, start, trigger } from '../support/landscaper/manifests.ts'
import { useStage } from '../support/pawl/stage.ts'
import { conditionOf } from '../support/cluster/kstatus.ts'

const NAMESPACE = 'manifest'
const stage = useStage(NAMESPACE)
beforeAll(() => createTarget(stage.cluster))

// A pod that no node can take: its Deployment never gets ready.
const UNSCHEDULABLE = {
  template: {
    metadata: { labels: { app: 'never' } },
    spec: { nodeSelector: { nowhere: 'true' }, containers: [{ name: 'main', image: 'example/app:1' }] },
  },
  selector: { matchLabels: { app: 'never' } },
}

type ItemStatus = NonNullable<LsObject['status']> & {
  readonly lastErrors?: readonly { readonly reason: string; readonly message: string }[]
  readonly firstError?: { readonly reason: string }
  readonly providerStatus?: { readonly managedResources: readonly { readonly resource: { readonly name: string } }[] }
}

async function statusOf(executionName: string, item: string): Promise<ItemStatus> {
  const found = (await stage.cluster.items(executionName)).get(item)
  return found?.status ?? {}
}

async function deleteExecution(name: string): Promise<void> {
  await stage.cluster.deleteByHand('executions', name)
  await stage.cluster.waitUntilGone(name, 'executions')
}

describe('an item of manifests', () => {
  it('deploys in order, waits until pods run, exports, applies edits, removes objects that are no longer listed, and is uninstalled', async () => {
    const { cluster } = stage
    const db = { name: 'db', manifests: [deployment('shop-db', NAMESPACE), configMap('shop-settings', NAMESPACE)] }
    const exports = {
      exports: [
        {
          key: 'replicas',
          jsonPath: '.status.readyReplicas',
          fromResource: reference('apps/v1', 'Deployment', 'shop-app'),
        },
      ],
    }
    const app = { name: 'app', dependsOn: ['db'], manifests: [deployment('shop-app', NAMESPACE)], config: { exports } }
    await start(cluster, 'shop', [db, app])
    const first = await cluster.waitUntilFinished('shop', undefined, 'executions')
    expect(first.status?.phase, JSON.stringify(await statusOf('shop', 'db'))).toBe('Succeeded')
    const deployed = await cluster.get('deployments', 'shop-app', 'apps/v1')
    expect(deployed?.status).toMatchObject({ readyReplicas: 2, availableReplicas: 2 })
    const data = await cluster.get('dataobjects', first.status?.exportRef?.name ?? '')
    expect(data?.['data']).toEqual({ app: { replicas: 2 } })

    // A second job on an edited spec: one object more replicas, one object gone.
    const edited = [{ ...db, manifests: [deployment('shop-db', NAMESPACE, { replicas: 3 })] }, app]
    const spec = { deployItems: edited.map(manifestItem) }
    await cluster.patch('executions', 'shop', { spec })
    await trigger(cluster, 'shop', 'shop-2')
    expect((await cluster.waitUntilFinished('shop', 'shop-1', 'executions')).status?.phase).toBe('Succeeded')
    expect((await cluster.get('deployments', 'shop-db', 'apps/v1'))?.status).toMatchObject({ readyReplicas: 3 })
    expect(await cluster.get('configmaps', 'shop-settings', 'v1')).toBeUndefined()

    await deleteExecution('shop')
    const left = (await cluster.list('deployments', 'apps/v1')).map(({ metadata }) => metadata.name)
    expect(left.filter((name) => name.startsWith('shop-'))).toEqual([])
  })

  it('reports the object for which it waits, and times out with its name', async () => {
    const { cluster } = stage
    await start(cluster, 'never', [
      { name: 'web', timeout: '20s', manifests: [deployment('never', NAMESPACE, UNSCHEDULABLE)] },
    ])
    const says = (item: LsObject | undefined, text: string) =>
      conditionOf(item, 'ResourcesReady')?.message.includes(text) === true
    const waiting = await cluster.waitUntilItems('never', ['web'], (item) =>
      says(item, 'Deployment manifest/never: 0 of 2'),
    )
    expect(waiting.get('web')?.status).toMatchObject({ phase: 'Progressing' })
    expect(conditionOf(waiting.get('web'), 'ResourcesReady')).toMatchObject({ status: 'False' })
    expect((await cluster.waitUntilFinished('never', undefined, 'executions')).status?.phase).toBe('Failed')
    expect((await statusOf('never', 'web')).lastError).toMatchObject({
      reason: 'ProgressingTimeout',
      codes: ['ERR_TIMEOUT'],
      message: expect.stringMatching(/^timeout at: "deployer: during readiness check.*never/) as string,
    })
    await deleteExecution('never')
  })

  it('retries after 5 s, stores the first and the last errors, and continues when the cause is fixed', async () => {
    const { cluster } = stage
    const other = 'manifest-later'
    await start(cluster, 'later', [{ name: 'one', manifests: [configMap('later', other)] }])
    await cluster.waitUntilItems('later', ['one'], (item) => item?.status?.lastError !== undefined)
    const failing = await statusOf('later', 'one')
    expect(failing.phase).toBe('Progressing')
    expect(failing.firstError).toEqual(failing.lastErrors?.[0])
    // The ServiceAccount gets its rights only now.
    await cluster.kube.request('POST', '/api/v1/namespaces', { body: { metadata: { name: other } } })
    await cluster.kube.request('POST', `/apis/rbac.authorization.k8s.io/v1/namespaces/${other}/rolebindings`, {
      body: {
        metadata: { name: 'here' },
        roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'admin' },
        subjects: [{ kind: 'ServiceAccount', name: 'here', namespace: NAMESPACE }],
      },
    })
    const done = await cluster.waitUntilFinished('later', undefined, 'executions')
    expect(done.status?.phase).toBe('Succeeded')
    const { lastError, lastErrors } = await statusOf('later', 'one')
    expect(lastError).toBeUndefined()
    expect(lastErrors?.length).toBeGreaterThan(0)
    await deleteExecution('later')
  })

  it('is not held up by a sibling that never gets ready', async () => {
    const { cluster } = stage
    const slow = deployment('slow', NAMESPACE, UNSCHEDULABLE)
    await start(cluster, 'beside', [
      { name: 'slow', timeout: '1h', manifests: [slow] },
      ...[1, 2, 3, 4, 5].map((index) => ({
        name: `quick-${index}`,
        manifests: [configMap(`quick-${index}`, NAMESPACE)],
      })),
    ])
    const quick = [1, 2, 3, 4, 5].map((index) => `quick-${index}`)
    await cluster.waitUntilItems('beside', quick, (item) => item?.status?.phase === 'Succeeded')
    await cluster.waitUntilItems('beside', ['slow'], (item) => item?.status?.phase === 'Progressing')
    await cluster.patch('executions', 'beside', { metadata: { annotations: { [OPERATION]: 'interrupt' } } })
    await cluster.waitUntilFinished('beside', undefined, 'executions')
    await deleteExecution('beside')
  })

  it('does nothing with updateOnChangeOnly and an unchanged spec', async () => {
    const { cluster } = stage
    await start(cluster, 'once', [{ name: 'one', updateOnChangeOnly: true, manifests: [configMap('once', NAMESPACE)] }])
    await cluster.waitUntilFinished('once', undefined, 'executions')
    await cluster.kube.request('DELETE', `/api/v1/namespaces/${NAMESPACE}/configmaps/once`)
    await trigger(cluster, 'once', 'once-2')
    expect((await cluster.waitUntilFinished('once', 'once-1', 'executions')).status?.phase).toBe('Succeeded')
    expect(await cluster.get('configmaps', 'once', 'v1')).toBeUndefined()
    await deleteExecution('once')
  })

  it('leaves its objects on the target when it is deleted without uninstallation', async () => {
    const { cluster } = stage
    await start(cluster, 'kept', [{ name: 'one', manifests: [configMap('kept', NAMESPACE)] }])
    await cluster.waitUntilFinished('kept', undefined, 'executions')
    const annotations = { 'landscaper.gardener.cloud/delete-without-uninstall': 'true' }
    await cluster.patch('executions', 'kept', { metadata: { annotations } })
    await deleteExecution('kept')
    expect(await cluster.get('configmaps', 'kept', 'v1')).toBeDefined()
  })

  it('fails without a configuration, and can be deleted', async () => {
    const { cluster } = stage
    const { type, target } = manifestItem({ name: 'bare', manifests: [] })
    const bare = { apiVersion: API, kind: 'DeployItem', metadata: { name: 'bare' }, spec: { type, target } }
    await cluster.create(bare, 'deployitems')
    await cluster.patch('deployitems', 'bare', { status: { jobID: 'one' } }, 'status')
    const failed = await cluster.waitUntilFinished('bare', undefined, 'deployitems')
    expect(failed.status).toMatchObject({ phase: 'Failed', lastError: { reason: 'InvalidConfiguration' } })
    await cluster.deleteByHand('deployitems', 'bare')
    await cluster.waitUntilGone('bare', 'deployitems')
  })

  it('fails at once when its target is missing, and can be deleted', async () => {
    const { cluster } = stage
    await start(cluster, 'lost', [{ name: 'one', target: 'nowhere', manifests: [configMap('lost', NAMESPACE)] }])
    expect((await cluster.waitUntilFinished('lost', undefined, 'executions')).status?.phase).toBe('Failed')
    expect((await statusOf('lost', 'one')).lastError).toMatchObject({
      reason: 'NoTargetFound',
      message: expect.stringContaining('manifest/nowhere') as string,
    })
    await deleteExecution('lost')
  })
})

function reference(apiVersion: string, kind: string, name: string) {
  return { apiVersion, kind, name, namespace: NAMESPACE }
}
