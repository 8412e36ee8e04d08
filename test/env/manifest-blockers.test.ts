// Orphans that hold what the API server rejects a new object for: they go first, every other orphan goes after the apply.

import { describe, expect, inject, it, vi } from 'vitest'

import { service } from '../activities/landscaper/deploy/manifest/ordinary-objects.ts'
import { useTargetStage } from '../activities/landscaper/deploy/manifest/target-stage.ts'

const stage = useTargetStage(inject('servers').kubeconfigPath, 'manifest-blockers')
const NODE_PORT = 31977
const CLUSTER_IP = '10.96.0.77'

const port = (name: string) =>
  service({ type: 'NodePort', ports: [{ port: 80, nodePort: NODE_PORT }] }, name, stage.namespace)
const address = (name: string) => service({ clusterIP: CLUSTER_IP, ports: [{ port: 80 }] }, name, stage.namespace)
const priority = (name: string) => ({
  apiVersion: 'scheduling.k8s.io/v1',
  kind: 'PriorityClass',
  metadata: { name },
  value: 7,
  globalDefault: true,
})
const quota = (hard: object) => ({
  apiVersion: 'v1',
  kind: 'ResourceQuota',
  metadata: { name: 'full', namespace: stage.namespace },
  spec: { hard },
})
const requests = () => stage.kube.writes.map(({ method, path }) => `${method} ${path.split('/').at(-1) ?? ''}`)

describe('a renamed object', () => {
  it.each([
    ['Service keeps its node port', port],
    ['Service keeps its cluster address', address],
    ['PriorityClass stays the only default', priority],
  ])('is deployed where a %s: the old object goes first, other orphans go last', async (title, object) => {
    const item = await stage.deployed(title.toLowerCase().replaceAll(' ', '-'), [
      object('old'),
      stage.configMap('bystander'),
    ])
    stage.kube.requests = []
    item.configure([object('new'), stage.configMap('beside')])
    await item.reconcile()
    expect(item.managed).toEqual(['beside', 'new'])
    const sent = requests()
    expect(sent.filter((one) => one.startsWith('DELETE'))).toEqual(['DELETE old', 'DELETE bystander'])
    expect(sent.findLastIndex((one) => one.startsWith('POST'))).toBeLessThan(sent.indexOf('DELETE bystander'))
    await item.uninstall()
  })

  it('is deployed under a full quota, which the old object fills', async () => {
    const item = await stage.deployed('full-quota', [stage.configMap('counted-old')])
    const quotas = `/api/v1/namespaces/${stage.namespace}/resourcequotas`
    const used = async () => {
      const live = await stage.get(`${quotas}/full`)
      return (live as { status?: { used?: Record<string, string> } } | undefined)?.status?.used?.['count/configmaps']
    }
    const list = await stage.get(stage.mapPath())
    const count = String((list as unknown as { items: readonly object[] }).items.length)
    await stage.create(quota({ 'count/configmaps': count }), quotas)
    // The quota controller counts once, in its cache, which can lack the newest ConfigMap. It counts a new quota again.
    while ((await vi.waitUntil(used, { timeout: 20_000 })) !== count) {
      await stage.kube.request('DELETE', `${quotas}/full`)
      await stage.create(quota({ 'count/configmaps': count }), quotas)
    }
    item.configure([stage.configMap('counted-new')])
    // The quota controller counts the deletion a moment later.
    await expect.poll(async () => (await item.step('install')).result, { timeout: 30_000 }).toBe('done')
    expect(item.managed).toEqual(['counted-new'])
    expect(await stage.data('counted-old')).toBeUndefined()
    await stage.kube.request('DELETE', `${quotas}/full`)
  })
})
