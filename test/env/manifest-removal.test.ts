// Deletions by the manifest deployer on a real cluster with its controllers: their order, their waits, and the objects
// that stay.

import { afterAll, beforeAll, beforeEach, describe, expect, inject, it } from 'vitest'
import { OWNERSHIP_LABELS } from '../../activities/landscaper/deploy/manifest/ownership-labels.ts'
import { customKind } from '../activities/landscaper/deploy/manifest/ordinary-objects.ts'
import { forbidden, TargetStage } from '../activities/landscaper/deploy/manifest/target-stage.ts'

const { kubeconfigPath } = inject('servers')
const stage = new TargetStage(kubeconfigPath, 'manifest-removal')
const HOLD = 'test.example/hold'

beforeAll(() => stage.create({ metadata: { name: stage.namespace } }, '/api/v1/namespaces'))
beforeEach(() => {
  stage.kube.requests = []
  stage.kube.refuse = () => undefined
  stage.kube.before = () => Promise.resolve()
})
afterAll(() => stage.kube.close())

const held = (name: string) => stage.configMap(name, { a: '1' }, { finalizers: [HOLD] })
const release = (name: string) => stage.patch(stage.mapPath(name), { metadata: { finalizers: null } })
const deletes = () =>
  stage.kube.writes.filter(({ method }) => method === 'DELETE').map(({ path }) => path.split('/').at(-1))
const custom = (fields: object) => ({ customResourceGroup: fields })
const role = (name: string) => ({
  apiVersion: 'rbac.authorization.k8s.io/v1',
  kind: 'ClusterRole',
  metadata: { name },
  rules: [],
})
const rolePath = (name: string) => `/apis/rbac.authorization.k8s.io/v1/clusterroles/${name}`
const isTerminating = async (name: string) => (await stage.map(name))?.metadata.deletionTimestamp !== undefined

describe('orphans of an update', () => {
  it('are deleted by their policy; an object with the new policy ignore is released', async () => {
    const entries = ['manage', 'keep', 'immutable', 'fallback'].map((policy) => ({
      policy,
      manifest: stage.configMap(`orphan-${policy}`),
    }))
    const item = await stage.deployed('orphans', [...entries, stage.configMap('let-go'), stage.configMap('stays')])
    item.configure([stage.configMap('stays'), { policy: 'ignore', manifest: stage.configMap('let-go') }])
    await item.reconcile()
    expect(item.managed).toEqual(['stays'])
    const left = await Promise.all(
      [...entries.map(({ policy }) => `orphan-${policy}`), 'let-go'].map((name) => stage.data(name)),
    )
    expect(left).toEqual([undefined, { a: '1' }, undefined, undefined, { a: '1' }])
  })

  it('stay in the status until they are deleted, and the item waits for their deletion before readiness', async () => {
    const item = await stage.deployed('slow-orphan', [held('slow-orphan')])
    item.configure([stage.configMap('new-one')])
    const step = await item.step('install')
    expect(step).toMatchObject({ result: 'waiting', checkpoint: 'deployer: cleanup orphaned' })
    expect(step).toMatchObject({
      waitingFor: `ConfigMap "${stage.namespace}/slow-orphan" is being deleted and has the finalizer ${HOLD}`,
    })
    expect(item.managed).toEqual(['new-one', 'slow-orphan'])
    expect(await item.step('check')).toMatchObject({ checkpoint: 'deployer: cleanup orphaned' })
    await release('slow-orphan')
    expect(await item.step('check')).toMatchObject({ result: 'done' })
    expect(item.managed).toEqual(['new-one'])
  })

  it('stay in the status if the apply before their deletion fails', async () => {
    const item = await stage.deployed('failing', [stage.configMap('fails-old'), stage.configMap('fails-both')])
    item.configure([stage.configMap('fails-both'), stage.configMap('fails-new')])
    stage.kube.refuse = (method) => (method === 'POST' ? forbidden() : undefined)
    expect(await item.step('install')).toMatchObject({
      result: 'failed',
      error: { reason: 'Forbidden', isFinal: false },
    })
    expect(item.managed).toEqual(['fails-both', 'fails-new', 'fails-old'])
    expect(await stage.data('fails-old')).toEqual({ a: '1' })
    stage.kube.refuse = () => undefined
    await item.reconcile()
    expect(item.managed).toEqual(['fails-both', 'fails-new'])
    expect(await stage.data('fails-old')).toBeUndefined()
  })

  it('that the item could neither create nor read do not block the item', async () => {
    const item = stage.item('never-made').configure([stage.configMap('never-made'), stage.configMap('made')])
    const isThat = (path: string) => path.endsWith('never-made')
    stage.kube.refuse = (_, path) => (isThat(path) ? forbidden() : undefined)
    expect(await item.step('install')).toMatchObject({ result: 'failed', error: { reason: 'Forbidden' } })
    await item.configure([stage.configMap('made')]).reconcile()
    expect(item.managed).toEqual(['made'])
  })

  it('that may exist but cannot be read cause an error, and stay in the status', async () => {
    const item = await stage.deployed('maybe', [stage.configMap('maybe')])
    // The status after a crash that left out the uid; afterwards the API server forbids reads of the object.
    const resource = { apiVersion: 'v1', kind: 'ConfigMap', name: 'maybe', namespace: stage.namespace }
    item.providerStatus = { ...item.providerStatus, managedResources: [{ policy: 'manage', resource }] }
    stage.kube.refuse = (_, path) => (path.endsWith('maybe') ? forbidden() : undefined)
    item.configure([])
    expect(await item.step('install')).toMatchObject({
      result: 'failed',
      error: { operation: 'CleanupOrphaned', reason: 'Forbidden', isFinal: false },
    })
    expect(item.managed).toEqual(['maybe'])
    stage.kube.refuse = () => undefined
    await item.reconcile()
    expect(await stage.data('maybe')).toBeUndefined()
  })

  it('in no deletion group of the update stay on the cluster', async () => {
    const item = await stage.deployed('left', [stage.configMap('left')])
    await item
      .configure([], { deletionGroupsDuringUpdate: [{ predefinedResourceGroup: { type: 'empty' } }] })
      .reconcile()
    expect(await stage.data('left')).toEqual({ a: '1' })
    expect(item.managed).toEqual([])
  })

  it('that another item has taken over, or a user has recreated, stay', async () => {
    const item = await stage.deployed('giver', [stage.configMap('moved'), stage.configMap('anew')])
    await stage
      .item('taker')
      .configure([stage.configMap('moved')])
      .reconcile()
    await stage.kube.request('DELETE', stage.mapPath('anew'))
    await stage.create(stage.configMap('anew'))
    await item.configure([]).reconcile()
    expect((await stage.map('moved'))?.metadata.labels).toEqual({ [OWNERSHIP_LABELS.label]: 'taker' })
    expect(await stage.data('anew')).toEqual({ a: '1' })
  })
})

describe('an uninstall', () => {
  it('deletes group by group, and an object with a finalizer delays the next group', async () => {
    const item = await stage.deployed('groups', [role('groups'), held('groups'), stage.configMap('groups-free')])
    const step = await item.step('uninstall')
    expect(step).toMatchObject({ result: 'waiting', checkpoint: 'deployer: delete resources' })
    expect(step).toMatchObject({
      waitingFor: `ConfigMap "${stage.namespace}/groups" is being deleted and has the finalizer ${HOLD}`,
    })
    expect(await stage.data('groups-free')).toBeUndefined()
    expect(await stage.get(rolePath('groups'))).toBeDefined()
    expect(await item.step('uninstall')).toMatchObject({ result: 'waiting' })
    await release('groups')
    expect(await item.step('uninstall')).toMatchObject({ result: 'done' })
    expect(await stage.get(rolePath('groups'))).toBeUndefined()
    expect(deletes()).toHaveLength(3)
  })

  it('with custom groups deletes in the order of the groups, and keeps objects that are in no group', async () => {
    const maps = { resources: [{ apiVersion: 'v1', kind: 'configmaps', names: ['own-b'] }] }
    const roles = { resources: [{ apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRole' }] }
    const item = await stage.deployed('own', [stage.configMap('own-a'), stage.configMap('own-b'), role('own')], {
      deletionGroups: [custom(roles), custom(maps)],
    })
    await item.uninstall()
    expect(deletes()).toEqual(['own', 'own-b'])
    expect(await stage.data('own-a')).toEqual({ a: '1' })
  })

  it('with forceDelete removes finalizers', async () => {
    const item = await stage.deployed('force', [held('force')], {
      deletionGroups: [{ predefinedResourceGroup: { type: 'namespaced-resources', forceDelete: true } }],
    })
    expect(await item.step('uninstall')).toMatchObject({ result: 'done' })
    expect(await stage.map('force')).toBeUndefined()
  })

  it('with deleteAllResources also deletes objects of other owners, but nothing if the item has no objects', async () => {
    const { definition, resource } = customKind('gadgets', 'Gadget')
    await stage.item('operator').configure([definition]).reconcile()
    // The API server serves a new kind a moment after it accepts the CRD.
    const created = async () =>
      await stage.create(resource('foreign', {}), '/apis/gadgets.example/v1/gadgets').then(() => 'created', String)
    await expect.poll(created).toBe('created')
    const all = custom({ resources: [{ apiVersion: 'gadgets.example/v1', kind: 'gadgets' }], deleteAllResources: true })
    const item = stage
      .item('all')
      .configure([], { deletionGroups: [all, { predefinedResourceGroup: { type: 'namespaced-resources' } }] })
    await item.uninstall()
    expect(deletes()).toEqual([])
    item.configure([stage.configMap('all'), { policy: 'keep', manifest: resource('kept', {}) }], {
      deletionGroups: [all, { predefinedResourceGroup: { type: 'namespaced-resources' } }],
    })
    await item.reconcile()
    await item.uninstall()
    expect(deletes()).toEqual(['foreign', 'all'])
    expect(await stage.get('/apis/gadgets.example/v1/gadgets/kept')).toBeDefined()
  })

  it('with deleteAllResources may delete objects on another target', async () => {
    const other = new TargetStage(kubeconfigPath, 'manifest-removal-other')
    try {
      await other.create({ metadata: { name: other.namespace } }, '/api/v1/namespaces')
      await other.create(other.configMap('remote'))
      const types = [{ apiVersion: 'v1', kind: 'ConfigMap', names: ['remote'], namespaces: [other.namespace] }]
      const group = custom({ resources: types, deleteAllResources: true, targetName: 'far' })
      const item = stage.item('remote', { far: other.cluster() })
      await item.configure([stage.configMap('near')], { deletionGroups: [group] }).reconcile()
      await item.uninstall()
      expect(await other.map('remote')).toBeUndefined()
      expect(deletes()).toEqual([])
      expect(await stage.data('near')).toEqual({ a: '1' })
    } finally {
      await other.kube.close()
    }
  })

  it('finds objects that a crash kept out of the status by their label, and keeps objects without the label', async () => {
    const item = await stage.deployed('crashed', [stage.configMap('crashed')])
    await stage.create(stage.configMap('not-ours'))
    item.providerStatus = undefined
    await item.configure([stage.configMap('crashed'), stage.configMap('not-ours')]).uninstall()
    expect(await stage.data('crashed')).toBeUndefined()
    expect(await stage.data('not-ours')).toEqual({ a: '1' })
  })

  it('annotates and patches objects before it deletes them', async () => {
    const around = { annotateBeforeDelete: { dying: 'yes' }, patchBeforeDelete: { data: { a: 'last', b: 'will' } } }
    const item = await stage.deployed('dying', [{ manifest: held('dying'), ...around }])
    expect(await item.step('uninstall')).toMatchObject({ result: 'waiting' })
    const live = await stage.map('dying')
    expect(live?.metadata.annotations).toMatchObject({ dying: 'yes' })
    expect(live?.['data']).toEqual({ a: 'last', b: 'will' })
    await release('dying')
    await item.uninstall()
  })

  it('reports an object whose deletion the server rejects, and deletes the other objects of the group', async () => {
    const item = await stage.deployed('half', [stage.configMap('half-a'), stage.configMap('half-b')])
    stage.kube.refuse = (method, path) => (method === 'DELETE' && path.endsWith('half-a') ? forbidden() : undefined)
    expect(await item.step('uninstall')).toMatchObject({
      result: 'failed',
      error: { reason: 'Forbidden', isFinal: false },
    })
    expect([await stage.data('half-a'), await stage.data('half-b')]).toEqual([{ a: '1' }, undefined])
    stage.kube.refuse = () => undefined
    await item.uninstall()
    expect(await stage.data('half-a')).toBeUndefined()
  })

  it('works with an invalid configuration, unless the deletion groups are invalid', async () => {
    const item = await stage.deployed('spoilt', [stage.configMap('spoilt')])
    item.configure([{ manifest: 'no object' }], { deletionGroups: [{}] })
    await expect(item.step('uninstall')).rejects.toThrow('spec.config.')
    expect(await stage.data('spoilt')).toEqual({ a: '1' })
    item.configure([{ manifest: 'no object' }])
    await item.uninstall()
    expect(await stage.data('spoilt')).toBeUndefined()
  })

  it('deletes a cluster-scoped object in its own group, even if the status lists it with a namespace and without a uid', async () => {
    const intended = { ...role('intended'), metadata: { name: 'intended', namespace: stage.namespace } }
    const item = await stage.deployed('intended', [intended, stage.configMap('intended')])
    // The status before the first write.
    const { apiVersion, kind, metadata } = intended
    const map = { apiVersion: 'v1', kind: 'ConfigMap', name: 'intended', namespace: stage.namespace }
    const resources = [{ apiVersion, kind, ...metadata }, map].map((resource) => ({ policy: 'manage', resource }))
    item.providerStatus = { ...item.providerStatus, managedResources: resources }
    await item.uninstall()
    expect(deletes()).toEqual(['intended', 'intended'])
    expect(stage.kube.writes.at(-1)?.path).toBe(rolePath('intended'))
    expect(await stage.get(rolePath('intended'))).toBeUndefined()
  })

  it('counts objects as deleted if their kind no longer exists', async () => {
    const { definition, resource } = customKind('gizmos', 'Gizmo')
    const owner = stage.item('gizmo-owner').configure([definition])
    await owner.reconcile()
    const item = stage.item('gizmos').configure([resource('g', {})])
    await expect.poll(async () => (await item.step('install')).result, { timeout: 30_000 }).toBe('done')
    await owner.uninstall()
    // A new item has a new deployer. The previous deployer's discovery cache keeps the deleted kind for minutes.
    const next = stage.item('gizmos').configure([resource('g', {})])
    next.providerStatus = item.providerStatus
    await next.uninstall()
    expect(deletes()).toEqual(['gizmos.gizmos.example'])
  })

  it('does not delete an object that has replaced the observed object', async () => {
    const item = await stage.deployed('replaced', [stage.configMap('replaced')])
    const path = stage.mapPath('replaced')
    const replace = async () => {
      stage.kube.before = () => Promise.resolve()
      await stage.kube.request('DELETE', path)
      await stage.create(stage.configMap('replaced', { a: 'other' }))
    }
    stage.kube.before = async (method) => {
      if (method === 'DELETE') await replace()
    }
    const waitingFor = `ConfigMap "${stage.namespace}/replaced" changed during its removal`
    expect(await item.step('uninstall')).toMatchObject({ result: 'waiting', waitingFor })
    await item.uninstall()
    expect(await stage.data('replaced')).toEqual({ a: 'other' })
  })

  it('reports the finalizer and the objects that block the deletion of a namespace', async () => {
    const name = 'manifest-removal-held'
    const item = await stage.deployed('namespace', [{ apiVersion: 'v1', kind: 'Namespace', metadata: { name } }])
    const path = `/api/v1/namespaces/${name}/configmaps`
    await stage.create({ ...held('inside'), metadata: { name: 'inside', namespace: name, finalizers: [HOLD] } }, path)
    const looks = async () => {
      const step = await item.step('uninstall')
      return step.result === 'waiting' ? step.waitingFor : step.result
    }
    await expect
      .poll(looks, { timeout: 45_000, interval: 200 })
      .toMatch(/^Namespace "manifest-removal-held" is being deleted and has the finalizer kubernetes: .*configmaps/)
    await stage.patch(`${path}/inside`, { metadata: { finalizers: null } })
    await item.uninstall()
    expect(await isTerminating('inside')).toBe(false)
  })
})
