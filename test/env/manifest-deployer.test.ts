// The manifest deployer on a real cluster with its controllers: which objects it writes, which it keeps, and what a second job writes.

import { describe, expect, inject, it } from 'vitest'
import { OWNERSHIP_LABELS } from '../../activities/landscaper/deploy/manifest/ownership-labels.ts'
import { V1 } from '../activities/landscaper/deploy/manifest/manifests.ts'
import { job, ordinary, service } from '../activities/landscaper/deploy/manifest/ordinary-objects.ts'
import { useTargetStage } from '../activities/landscaper/deploy/manifest/target-stage.ts'

const stage = useTargetStage(inject('servers').kubeconfigPath, 'manifest-deployer')

describe('a manifest item', () => {
  it('creates its objects with label and field manager, and stores them with their uids in its status', async () => {
    const item = stage.item('creates').configure([
      {
        manifest: stage.configMap('created'),
        annotateBeforeCreate: { born: 'yes' },
        annotateBeforeDelete: { dying: 'yes' },
      },
    ])
    expect(await item.reconcile()).toMatchObject({ result: 'done' })
    const live = await stage.map('created')
    expect(live?.metadata.labels).toEqual({ [OWNERSHIP_LABELS.label]: 'creates' })
    expect(live?.metadata.annotations).toMatchObject({ born: 'yes' })
    expect((live?.metadata as { managedFields?: unknown }).managedFields).toMatchObject([{ manager: 'pawl-manifest' }])
    const { uid = '' } = live?.metadata ?? {}
    const resource = { apiVersion: 'v1', kind: 'ConfigMap', name: 'created', namespace: stage.namespace, uid }
    expect(item.providerStatus).toEqual({
      apiVersion: 'manifest.deployer.landscaper.gardener.cloud/v1alpha2',
      kind: 'ProviderStatus',
      managedResources: [{ policy: 'manage', resource, annotateBeforeDelete: { dying: 'yes' } }],
    })
  })

  it('accepts the older configuration version, and returns a status of that version', async () => {
    const { providerStatus } = await stage.item('older').configure([], { apiVersion: V1 }).reconcile()
    expect(providerStatus?.['apiVersion']).toBe(V1)
  })

  it('writes nothing in a second job with unchanged objects of many kinds', async () => {
    const item = await stage.deployed('ordinary', ordinary(stage.namespace))
    await settled('/apis/apps/v1', 'deployments/web')
    stage.kube.requests = []
    await item.reconcile()
    expect(stage.kube.writes).toEqual([])
  })

  it('deploys 200 objects, writes each once, and reads each once in a second job', async () => {
    const maps = Array.from({ length: 200 }, (_, index) => stage.configMap(`many-${index}`))
    const item = await stage.deployed('many', maps)
    expect(stage.kube.writes).toHaveLength(200)
    expect(item.managed).toHaveLength(200)
    stage.kube.requests = []
    await item.reconcile()
    expect(stage.kube.writes).toEqual([])
    expect(stage.kube.requests.filter(({ path }) => path.includes('/many-'))).toHaveLength(200)
    item.configure([])
    await item.reconcile()
    expect(stage.kube.writes).toHaveLength(200)
    expect(item.managed).toEqual([])
  })

  it('waits for readiness, then patches its objects, and does not patch or reset them again', async () => {
    const item = stage
      .item('patches')
      .configure(
        [{ manifest: stage.configMap('patched'), patchAfterDeployment: { data: { a: 'patched', b: 'new' } } }],
        { readinessChecks: { custom: [readyWhen('patched', 'ready')] } },
      )
    expect(await item.step('install')).toMatchObject({ result: 'waiting' })
    expect(await item.step('check')).toMatchObject({ result: 'waiting' })
    expect(await stage.data('patched')).toEqual({ a: '1' })
    await stage.patch(stage.mapPath('patched'), { metadata: { annotations: { ready: 'yes' } } })
    expect(await item.step('check')).toMatchObject({ result: 'done' })
    expect(await stage.data('patched')).toEqual({ a: 'patched', b: 'new' })
    stage.kube.requests = []
    await item.reconcile()
    expect(stage.kube.writes).toEqual([])
  })
})

const CONTAINER = { name: 'main', image: 'example/app:1' }

describe('a readiness check', () => {
  it('recreates an object that is deleted while it waits, and leaves the other objects unchanged', async () => {
    const labels = { app: 'waits' }
    const template = { metadata: { labels }, spec: { nodeSelector: { nowhere: 'true' }, containers: [CONTAINER] } }
    const spec = { selector: { matchLabels: labels }, template }
    const metadata = { name: 'waits', namespace: stage.namespace }
    const web = { apiVersion: 'apps/v1', kind: 'Deployment', metadata, spec }
    const item = stage.item('vanishing').configure([web, stage.configMap('vanishing'), stage.configMap('staying')])
    await item.step('install')
    const before = [await stage.map('vanishing'), await stage.map('staying')]
    await stage.kube.request('DELETE', stage.mapPath('vanishing'))
    expect(await item.step('check')).toMatchObject({
      result: 'waiting',
      waitingFor: expect.stringContaining('waits') as string,
    })
    const after = [await stage.map('vanishing'), await stage.map('staying')]
    expect(after[0]?.metadata.uid).not.toBe(before[0]?.metadata.uid)
    expect(after[1]).toEqual(before[1])
    expect(JSON.stringify(item.providerStatus)).toContain(after[0]?.metadata.uid)
    stage.kube.requests = []
    await item.step('check')
    expect(stage.kube.writes).toEqual([])
  })
})

describe('an update', () => {
  it.each([
    ['update', { a: 'new', b: 'foreign', c: 'added' }],
    ['patch', { a: 'new', b: 'foreign', c: 'added' }],
    ['replace', { a: 'new', c: 'added' }],
    ['merge', { a: '1', b: 'foreign', c: 'added' }],
    ['mergeOverwrite', { a: 'new', b: 'foreign', c: 'added' }],
  ])('by strategy %s results in %j, and a second job writes nothing', async (updateStrategy, expected) => {
    const name = `by-${updateStrategy.toLowerCase()}`
    const item = await stage.deployed(name, [stage.configMap(name)], { updateStrategy })
    await stage.patch(stage.mapPath(name), { data: { b: 'foreign' } })
    item.configure([stage.configMap(name, { a: 'new', c: 'added' })], { updateStrategy })
    await item.reconcile()
    expect(await stage.data(name)).toEqual(expected)
    stage.kube.requests = []
    await item.reconcile()
    expect(stage.kube.writes).toEqual([])
  })

  it.each([
    ['manage', { a: 'new' }, ['by-manage']],
    ['keep', { a: 'new' }, ['by-keep']],
    ['immutable', { a: 'foreign' }, []],
    ['fallback', { a: 'foreign' }, []],
    ['ignore', { a: 'foreign' }, []],
  ])('by policy %s turns an object of another owner into %j and manages %j', async (policy, expected, managed) => {
    const name = `by-${policy}`
    await stage.create(stage.configMap(name, { a: 'foreign' }))
    const item = await stage.deployed('policies', [{ policy, manifest: stage.configMap(name, { a: 'new' }) }])
    expect(await stage.data(name)).toEqual(expected)
    expect(item.managed).toEqual(managed)
  })

  it('by policy fallback writes an object only while it has the label of the item', async () => {
    const item = await stage.deployed('falls-back', [
      { policy: 'fallback', manifest: stage.configMap('fallback', { a: '1' }) },
    ])
    item.configure([{ policy: 'fallback', manifest: stage.configMap('fallback', { a: '2' }) }])
    await item.reconcile()
    expect(await stage.data('fallback')).toEqual({ a: '2' })
    await stage.patch(stage.mapPath('fallback'), { metadata: { labels: { [OWNERSHIP_LABELS.label]: 'other' } } })
    await item.configure([{ policy: 'fallback', manifest: stage.configMap('fallback', { a: '3' }) }]).reconcile()
    expect(await stage.data('fallback')).toEqual({ a: '2' })
    expect(item.managed).toEqual([])
  })

  it('keeps the addresses of a Service, and updates a Job whose template is unchanged', async () => {
    const before = [
      service({ type: 'NodePort', ports: [{ port: 80 }] }, 'kept', stage.namespace),
      job('kept', stage.namespace, 1),
    ]
    const item = stage.item('kept').configure(before)
    const quiet = { readinessChecks: { disableDefault: true } }
    await item.reconcile()
    const path = `/api/v1/namespaces/${stage.namespace}/services/kept`
    const first = (await stage.get(path))?.['spec'] as { clusterIP: string; ports: { nodePort: number }[] }
    item.configure(
      [
        service(
          { type: 'NodePort', ports: [{ port: 80 }, { port: 81, name: 'b' }].map((port) => ({ name: 'a', ...port })) },
          'kept',
          stage.namespace,
        ),
        job('kept', stage.namespace, 2),
      ],
      quiet,
    )
    await item.reconcile()
    const second = (await stage.get(path))?.['spec'] as typeof first
    expect(second.clusterIP).toBe(first.clusterIP)
    expect(second.ports).toHaveLength(2)
    expect(second.ports[0]?.nodePort).toBe(first.ports[0]?.nodePort)
    const kept = await stage.get(`/apis/batch/v1/namespaces/${stage.namespace}/jobs/kept`)
    expect(kept?.['spec']).toMatchObject({ parallelism: 2 })
  })

  it('that conflicts with another writer is computed again for the newer version', async () => {
    const item = await stage.deployed('overtaken', [stage.configMap('overtaken')])
    item.configure([stage.configMap('overtaken', { a: '2' })])
    let overtaking: Promise<unknown> | undefined
    stage.kube.before = async (method, path) => {
      if (method === 'PUT') await (overtaking ??= stage.patch(path, { data: { b: 'foreign' } }))
    }
    stage.kube.requests = []
    await item.reconcile()
    expect(stage.kube.writes.map(({ method }) => method)).toEqual(['PUT', 'PATCH', 'PUT'])
    expect(await stage.data('overtaken')).toEqual({ a: '2', b: 'foreign' })
  })

  it('of an object that is being deleted fails with a retryable error until the object can be recreated', async () => {
    const item = await stage.deployed('reborn', [
      stage.configMap('reborn', { a: '1' }, { finalizers: ['test.example/hold'] }),
    ])
    await stage.kube.request('DELETE', stage.mapPath('reborn'))
    const step = await item.step('install')
    expect(step).toMatchObject({ result: 'failed', error: { reason: 'BeingDeleted', isFinal: false } })
    expect((step as { error: Error }).error.message).toContain(
      `ConfigMap "${stage.namespace}/reborn": the object is being deleted; Pawl creates it again after its deletion`,
    )
    expect((step as { error: Error }).error.message).toContain('test.example/hold')
    await stage.patch(stage.mapPath('reborn'), { metadata: { finalizers: null } })
    await item.configure([stage.configMap('reborn')]).reconcile()
    expect((await stage.map('reborn'))?.metadata.deletionTimestamp).toBeUndefined()
  })
})

const readyWhen = (name: string, annotation: string) => ({
  name: 'ready',
  resourceSelector: [{ apiVersion: 'v1', kind: 'ConfigMap', name, namespace: stage.namespace }],
  requirements: [{ jsonPath: `.metadata.annotations.${annotation}`, operator: '==', values: [{ value: 'yes' }] }],
})

async function settled(root: string, path: string): Promise<void> {
  await expect
    .poll(async () => (await stage.get(`${root}/namespaces/${stage.namespace}/${path}`))?.['status'], {
      timeout: 20_000,
    })
    .toMatchObject({ availableReplicas: 1 })
}
