// Objects of a manifest item that a webhook of the target denies: tried again until it allows them or the item's time is up, and told in the
// webhook's words. On real servers, with a real webhook.

import { afterAll, beforeAll, describe, expect, it } from 'vitest'

import { type LsObject } from '../support/cluster/cluster.ts'
import { type Asked, type Denied, type DenyingWebhook, startDenyingWebhook } from '../support/faults/denying-webhook.ts'
import { configMap, createTarget, start } from '../support/landscaper/manifests.ts'
import { useStage } from '../support/pawl/stage.ts'

const NAMESPACE = 'denied'
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
const statusOf = async (name: string) => (await stage.cluster.items(name)).get('one')?.status

describe.concurrent('an object that a webhook denies', () => {
  it.each<[string, Omit<Denied, 'message'>]>([
    ['without a code', {}],
    ['as invalid', { code: 422, reason: 'Invalid' }],
  ])('%s, is sent again until it is allowed', async (_, answer) => {
    const { cluster } = stage
    const name = `later-${answer.code ?? 'plain'}`
    rules.set(name, of('CREATE', { ...answer, message: 'its owner is not there yet' }))
    await start(cluster, name, [{ name: 'one', manifests: [configMap(name, NAMESPACE)] }])
    const told = `admission webhook "${webhook.name}" denied the request: its owner is not there yet`
    const items = await cluster.waitUntilItems(name, ['one'], (item) => says(item, told))
    expect(items.get('one')?.status?.phase).toBe('Progressing')
    rules.delete(name)
    expect((await cluster.waitUntilFinished(name, undefined, 'executions')).status?.phase).toBe('Succeeded')
    expect(await cluster.get('configmaps', name, 'v1')).toBeDefined()
  })

  it('always, fails its item at the time-out, with the sentence and without the values that it quotes', async () => {
    const { cluster } = stage
    let denials = 0
    rules.set('never', ({ object }) => {
      denials++
      return { message: `what is ${object?.data?.['key'] ?? ''} may not be here` }
    })
    const manifests = [configMap('never', NAMESPACE, { key: 'canary-7' })]
    await start(cluster, 'never', [{ name: 'one', timeout: '20s', manifests }])
    expect((await cluster.waitUntilFinished('never', undefined, 'executions')).status?.phase).toBe('Failed')
    const { phase, lastError } = (await statusOf('never')) ?? {}
    expect({ phase, lastError }).toMatchObject({
      phase: 'Failed',
      lastError: {
        reason: 'ProgressingTimeout',
        codes: ['ERR_TIMEOUT'],
        message: expect.stringContaining(
          `400 WebhookDenied: admission webhook "${webhook.name}" denied the request: what is *** may not be here`,
        ) as string,
      },
    })
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
