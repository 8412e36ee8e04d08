// Objects of several classes in one manifest item, on a real cluster with its controllers: CRDs before their custom resources, namespaces before the
// objects in them, and the other objects after an error of one object.

import { describe, expect, inject, it } from 'vitest'

import { KubeError } from '../../activities/kube/errors.ts'
import { customKind } from '../activities/landscaper/deploy/manifest/ordinary-objects.ts'
import { forbidden, useTargetStage } from '../activities/landscaper/deploy/manifest/target-stage.ts'

const stage = useTargetStage(inject('servers').kubeconfigPath, 'manifest-classes')

describe('a manifest item with several classes of objects', () => {
  it('installs CRDs, their custom resources, a namespace and the objects in this namespace together', async () => {
    const { definition, resource } = customKind('widgets', 'Widget')
    const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'manifest-classes-own' } }
    const inside = stage.configMap('inside', { a: '1' }, { namespace: 'manifest-classes-own' })
    const item = await stage.deployed('classes', [inside, resource('w', { size: 3 }), namespace, definition])
    expect(await stage.get('/apis/widgets.example/v1/widgets/w')).toMatchObject({ spec: { size: 3 } })
    expect(item.managed).toEqual(['inside', 'manifest-classes-own', 'w', 'widgets.widgets.example'])
    const sent = stage.kube.writes.map(({ path }) => path.split('/').at(-1))
    expect(sent.slice(0, 2)).toEqual(['namespaces', 'customresourcedefinitions'])
    stage.kube.requests = []
    await item.reconcile()
    expect(stage.kube.writes).toEqual([])
    await item.uninstall()
    expect(
      await stage.get('/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.widgets.example'),
    ).toBeUndefined()
  })

  it('sends objects after the objects that they refer to: a token stays where its ServiceAccount comes with it', async () => {
    const of = (kind: string, name: string, more: object = {}) => ({
      apiVersion: 'v1',
      kind,
      metadata: { name, namespace: stage.namespace, ...more },
    })
    const account = { 'kubernetes.io/service-account.name': 'account' }
    const token = { ...of('Secret', 'token', { annotations: account }), type: 'kubernetes.io/service-account-token' }
    const service = { ...of('Service', 'referring'), spec: { ports: [{ port: 80 }] } }
    await stage.deployed('referring', [service, token, of('ServiceAccount', 'account')])
    const sent = stage.kube.writes.map(({ method, path }) => `${method} ${path.split('/').at(-1)}`)
    expect(sent).toEqual(['POST serviceaccounts', 'POST secrets', 'POST services'])
    const path = `/api/v1/namespaces/${stage.namespace}/secrets/token`
    await expect.poll(async () => (await stage.get(path))?.['data'], { timeout: 20_000 }).toHaveProperty('token')
  })

  it('waits for a CRD until the API server has established it', async () => {
    const { definition, resource } = customKind('doodads', 'Doodad')
    await stage.item('definition').configure([definition]).reconcile()
    const live = await stage.get('/apis/apiextensions.k8s.io/v1/customresourcedefinitions/doodads.doodads.example')
    const { conditions } = live?.['status'] as { conditions: unknown[] }
    expect(conditions).toContainEqual(expect.objectContaining({ type: 'Established', status: 'True' }))
    const item = stage.item('doodads').configure([resource('d', {})])
    // The endpoint follows the condition within a moment.
    await expect.poll(async () => (await item.step('install')).result, { timeout: 30_000 }).toBe('done')
  })

  it('does not wait for a CRD whose names are taken, unless the item has custom resources of this CRD', async () => {
    const taken = customKind('trinkets', 'Trinket')
    await stage.item('first').configure([taken.definition]).reconcile()
    const { definition, resource } = customKind('trinkets', 'Trinket')
    const spec = { ...definition.spec, names: { ...definition.spec.names, plural: 'others' } }
    const rival = { ...definition, metadata: { name: 'others.trinkets.example' }, spec }
    const versioned = { ...rival, spec: { ...spec, versions: spec.versions.map((one) => ({ ...one, name: 'v2' })) } }
    await expect
      .poll(async () => (await stage.item('rival').configure([versioned]).step('install')).result)
      .toBe('done')
    const trinket = { ...resource('t', {}), apiVersion: 'trinkets.example/v2' }
    const item = stage.item('rival').configure([versioned, trinket])
    const step = await item.step('install')
    const waitingFor =
      'CustomResourceDefinition "others.trinkets.example" is not established, because another definition uses its names'
    expect(step).toMatchObject({ result: 'waiting', checkpoint: 'deployer: apply manifests', waitingFor })
    expect(await item.step('check')).toMatchObject({ result: 'waiting', waitingFor })
  })

  it('ignores the namespace of a cluster-scoped object', async () => {
    const role = {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'ClusterRole',
      metadata: { name: 'placed', namespace: stage.namespace },
    }
    const item = await stage.deployed('placed', [{ ...role, rules: [] }])
    stage.kube.requests = []
    await item.reconcile()
    expect(stage.kube.writes).toEqual([])
    await item.uninstall()
    const deleted = stage.kube.writes
      .filter(({ method }) => method === 'DELETE')
      .map(({ path }) => path.split('/').at(-1))
    expect(deleted).toEqual(['placed'])
  })

  it('reports a kind that the cluster does not serve as a retryable error, and applies the other objects', async () => {
    const nobody = { apiVersion: 'nobody.example/v1', kind: 'Nothing', metadata: { name: 'x' } }
    const item = stage.item('unknown').configure([nobody, stage.configMap('beside-unknown')])
    const step = await item.step('install')
    expect(step).toMatchObject({ result: 'failed', error: { reason: 'KindNotServed', isFinal: false } })
    expect((step as { error: Error }).error.message).toMatch(
      /^Nothing "x": the target does not serve kind "Nothing" of nobody.example\/v1; correct apiVersion and kind/,
    )
    expect(await stage.data('beside-unknown')).toEqual({ a: '1' })
    expect(item.managed).toEqual(['beside-unknown', 'x'])
  })

  it('continues after an error of one object, and reports each object that failed', async () => {
    stage.kube.refuse = (method, path) => (method === 'POST' && path.endsWith('/namespaces') ? forbidden() : undefined)
    const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'manifest-classes-no' } }
    const canary = stage.configMap('Canary Name', { secret: 'canary-value' })
    const step = await stage
      .item('partly')
      .configure([namespace, canary, stage.configMap('partly'), stage.configMap('bare', {}, { namespace: undefined })])
      .step('install')
    expect(step).toMatchObject({ result: 'failed', error: { reason: 'SeveralFailures', isFinal: true } })
    const { message } = (step as { error: Error }).error
    expect(message).toContain('Namespace "manifest-classes-no": no role allows it')
    expect(message).toContain(`ConfigMap "${stage.namespace}/Canary Name": `)
    expect(message).toContain('ConfigMap "bare": metadata.namespace: found nothing')
    expect(message).not.toContain('canary-value')
    expect(await stage.data('partly')).toEqual({ a: '1' })
  })

  it('stops if the API server rejects the credentials', async () => {
    stage.kube.refuse = () => new KubeError('who are you', { status: 401, reason: 'Unauthorized' })
    const item = stage.item('refused').configure([stage.configMap('refused')])
    await expect(item.step('install')).rejects.toMatchObject({ codes: ['ERR_UNAUTHORIZED'], isFinal: true })
  })
})
