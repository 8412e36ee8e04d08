// In which order the manifest deployer sends the objects of an item to a real cluster with its controllers.

import { afterAll, beforeAll, beforeEach, describe, expect, inject, it } from 'vitest'

import { customKind } from '../activities/landscaper/deploy/manifest/ordinary-objects.ts'
import { TargetStage } from '../activities/landscaper/deploy/manifest/target-stage.ts'

const stage = new TargetStage(inject('servers').kubeconfigPath, 'manifest-order')

beforeAll(async () => {
  await stage.create({ metadata: { name: stage.namespace } }, '/api/v1/namespaces')
})
beforeEach(() => {
  stage.kube.requests = []
})
afterAll(() => stage.kube.close())

describe('objects that refer to each other', () => {
  it('are sent after what they refer to: a token stays where its ServiceAccount comes with it', async () => {
    const of = (kind: string, name: string, more: object = {}) => ({
      apiVersion: 'v1',
      kind,
      metadata: { name, namespace: stage.namespace, ...more },
    })
    const account = { 'kubernetes.io/service-account.name': 'account' }
    const token = { ...of('Secret', 'token', { annotations: account }), type: 'kubernetes.io/service-account-token' }
    const service = { ...of('Service', 'referring'), spec: { ports: [{ port: 80 }] } }
    const item = stage.item('referring').configure([service, token, of('ServiceAccount', 'account')])
    await item.reconcile()
    const sent = stage.kube.writes.map(({ method, path }) => `${method} ${path.split('/').at(-1)}`)
    expect(sent).toEqual(['POST serviceaccounts', 'POST secrets', 'POST services'])
    const path = `/api/v1/namespaces/${stage.namespace}/secrets/token`
    await expect.poll(async () => (await stage.get(path))?.['data'], { timeout: 20_000 }).toHaveProperty('token')
  })

  it('are sent after the namespace that they are in', async () => {
    const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'comes-along' } }
    const inside = stage.configMap('inside', { a: '1' }, { namespace: 'comes-along' })
    const item = stage.item('comes-along').configure([inside, customKind('lates', 'Late').definition, namespace])
    await item.step('install')
    const sent = stage.kube.writes.map(({ path }) => path.split('/').at(-1))
    expect(sent).toEqual(['namespaces', 'customresourcedefinitions', 'configmaps'])
  })
})
