// Deploy items that apply manifests, from the Execution to the target and back, on the real servers: the namespace's pods
// run on kwok's nodes, and a real webhook denies objects until a test allows them.

import { afterAll, beforeAll, describe, expect, it } from 'vitest'

import type { LsObject } from '../support/cluster/cluster.ts'
import { type Asked, type Denied, type DenyingWebhook, startDenyingWebhook } from '../support/faults/denying-webhook.ts'
import { configMap, createTarget, deployment, manifestItem, start, trigger } from '../support/landscaper/manifests.ts'
import { useStage } from '../support/pawl/stage.ts'

const NAMESPACE = 'manifest'
const stage = useStage(NAMESPACE)
let webhook: DenyingWebhook
/** By the object's name. */
const rules = new Map<string, (asked: Asked) => Denied | undefined>()
beforeAll(async () => {
  await createTarget(stage.cluster)
  webhook = await startDenyingWebhook(stage.cluster, (asked) => rules.get(asked.name)?.(asked))
})
afterAll(() => webhook.stop())

const says = (item: LsObject | undefined, text: string) => item?.status?.lastError?.message.includes(text) === true
const of = (operation: string, denied: Denied) => (asked: Asked) => (asked.operation === operation ? denied : undefined)

const statusOf = async (name: string, item: string) => (await stage.cluster.items(name)).get(item)?.status

describe.concurrent('an item of manifests', () => {
  it('deploys in order, waits until pods run, exports, applies edits, removes objects that are no longer listed, and is uninstalled', async () => {
    const { cluster } = stage
    const db = { name: 'db', manifests: [deployment('shop-db', NAMESPACE), configMap('shop-settings', NAMESPACE)] }
    const fromResource = { apiVersion: 'apps/v1', kind: 'Deployment', name: 'shop-app', namespace: NAMESPACE }
    const exports = { exports: [{ key: 'replicas', jsonPath: '.status.readyReplicas', fromResource }] }
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

    await cluster.deleteByHand('executions', 'shop')
    await cluster.waitUntilGone('shop', 'executions')
    const left = (await cluster.list('deployments', 'apps/v1')).map(({ metadata }) => metadata.name)
    expect(left.filter((name) => name.startsWith('shop-'))).toEqual([])
  })
})

describe.concurrent('an object that a webhook denies', () => {
  it('is sent again until it is allowed, and its item keeps the errors', async () => {
    const { cluster } = stage
    rules.set('later', of('CREATE', { message: 'its owner is not there yet' }))
    await start(cluster, 'later', [{ name: 'one', manifests: [configMap('later', NAMESPACE)] }])
    const told = `admission webhook "${webhook.name}" denied the request: its owner is not there yet`
    const items = await cluster.waitUntilItems('later', ['one'], (item) => says(item, told))
    expect(items.get('one')?.status?.phase).toBe('Progressing')
    rules.delete('later')
    expect((await cluster.waitUntilFinished('later', undefined, 'executions')).status?.phase).toBe('Succeeded')
    expect(await cluster.get('configmaps', 'later', 'v1')).toBeDefined()
    const error = expect.objectContaining({ message: expect.stringContaining(told) as string }) as object
    const status = await statusOf('later', 'one')
    expect(status).toMatchObject({ firstError: error, lastErrors: [error] })
    expect(status).not.toHaveProperty('lastError')
  })

  it('always, fails its item at the time-out, with the sentence and without the values that it quotes', async () => {
    const { cluster } = stage
    let denials = 0
    rules.set('never', ({ object }) => {
      denials++
      return { message: `what is ${object?.data?.['key'] ?? ''} may not be here` }
    })
    const manifests = [configMap('never', NAMESPACE, { key: 'canary-7' })]
    await start(cluster, 'never', [{ name: 'one', timeout: '8s', manifests }])
    expect((await cluster.waitUntilFinished('never', undefined, 'executions')).status?.phase).toBe('Failed')
    const told = `400 WebhookDenied: admission webhook "${webhook.name}" denied the request: what is *** may not be here`
    const lastError = { reason: 'ProgressingTimeout', message: expect.stringContaining(told) as string }
    expect(await statusOf('never', 'one')).toMatchObject({ phase: 'Failed', lastError })
    expect(denials).toBeGreaterThan(1)
  })

  it('to be deleted, is waited for', async () => {
    const { cluster } = stage
    await start(cluster, 'kept', [{ name: 'one', manifests: [configMap('kept', NAMESPACE)] }])
    expect((await cluster.waitUntilFinished('kept', undefined, 'executions')).status?.phase).toBe('Succeeded')
    rules.set('kept', of('DELETE', { code: 404, reason: 'NotFound', message: 'its child has to go first' }))
    await cluster.deleteByHand('executions', 'kept')
    const items = await cluster.waitUntilItems('kept', ['one'], (item) => says(item, 'its child has to go first'))
    expect(items.get('one')?.status?.phase).toBe('Deleting')
    rules.delete('kept')
    await cluster.waitUntilGone('kept', 'executions')
    expect(await cluster.get('configmaps', 'kept', 'v1')).toBeUndefined()
  })
})
