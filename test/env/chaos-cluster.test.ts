// The injector's requests to a real API server; the test plays the kubelet. Source: spec/chaos.md 3.4 (6), 3.5, 3.6
// "Services", 3.8 "podReplacement".

import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'

import { afterEach, beforeEach, describe, expect, inject, it, onTestFailed } from 'vitest'

import { createKubeClient, type KubeClient, type KubeObject } from '../../activities/kube/client.ts'
import { isNotFound } from '../../activities/kube/errors.ts'
import { CHAOS_POD_FINALIZER } from '../../workflows/chaos/contract.ts'
import { ChaosStage, type Container, inside, networkState, whyNot, write } from './chaos-stage.ts'

const missing = whyNot(['ip', 'tc', 'iptables', 'iptables-restore', 'nsenter', 'unshare'])
const because = missing === undefined ? '' : ` (skipped: ${missing})`
const { kubeconfigPath } = inject('servers')

let turn = 0
let stage: ChaosStage
let kube: KubeClient
let namespace: string
let app: Container

describe.skipIf(missing !== undefined)(`an injector in a cluster${because}`, { timeout: 120_000 }, () => {
  beforeEach(async () => {
    stage = await ChaosStage.open()
    kube = createKubeClient({ kubeconfigPath, userAgent: 'test' })
    turn += 1
    namespace = `chaos-${process.pid}-${turn}`
    await kube.request('POST', '/api/v1/namespaces', { body: { metadata: { name: namespace } } })
    const peer = await stage.container()
    app = await stage.container()
    await stage.connect(peer, app, { one: ['10.88.0.1'], other: '10.88.0.2' })
  })

  afterEach(async () => {
    await stage.close()
    await kube.close()
  })

  it('removes its finalizer from its pod after a clean end, keeps the finalizers of other controllers, and succeeds when its pod is deleted', async () => {
    await createPod('chaos-1', { finalizers: [CHAOS_POD_FINALIZER, 'example.com/other'] })
    const injector = await stage.injected(args(), { env: inCluster('chaos-1') })
    await injector.end()
    expect((await get('pods/chaos-1'))?.metadata.finalizers).toEqual(['example.com/other'])
    const alone = await stage.injected(args(), { env: inCluster('chaos-2') })
    await alone.end()
  })

  it('whose target has no process removes its finalizer from its pod, unless changes of an earlier injector remain', async () => {
    // No process has this PID (it is beyond the kernel's maximum).
    const withoutProcess = args().map((arg) => (arg === `app;${app.id}` ? `app;process://${2 ** 22 + 1}` : arg))
    const finalizersAfterFailure = async (pod: string) => {
      await createPod(pod, { finalizers: [CHAOS_POD_FINALIZER] })
      const injector = stage.injector(withoutProcess, { env: inCluster(pod) })
      expect(await injector.ended).toBe(1)
      expect(injector.lines.join('\n')).toContain('the target does not exist')
      return (await get(`pods/${pod}`))?.metadata.finalizers
    }
    expect(await finalizersAfterFailure('chaos-5')).toBeUndefined()
    await mkdir(stage.state, { recursive: true })
    write(join(stage.state, 'unreadable.json'), 'not JSON')
    expect(await finalizersAfterFailure('chaos-6')).toEqual([CHAOS_POD_FINALIZER])
  })

  it('follows its target into a restarted container that starts late, and leaves the previous one unchanged', async () => {
    await createPod('target')
    await runs('target', app.id)
    const processes = join(stage.folder, 'containers')
    write(processes, JSON.stringify({ app: app.pid }))
    const env = { ...inCluster('chaos-3'), CHAOS_INJECTOR_CONTAINERS: processes }
    const injector = await stage.injected(args(), { env })
    onTestFailed(() => {
      process.stderr.write(`the injector:\n${injector.lines.join('\n')}\n`)
    })
    expect(networkState(app)).toContain('CHAOS-NET')
    const next = await stage.container()
    inside(next, 'ip', 'link', 'add', 'eth0', 'type', 'veth', 'peer', 'name', 'other')
    // No process has this PID (it is beyond the kernel's maximum).
    write(processes, JSON.stringify({ app: 2 ** 22 + 1 }))
    await runs('target', next.id)
    await injector.says('has no process')
    expect(networkState(app)).not.toContain('CHAOS-NET')
    write(processes, JSON.stringify({ app: next.pid }))
    await expect.poll(() => networkState(next), { timeout: 60_000 }).toContain('-A CHAOS-NET')
    await injector.end()
    expect(networkState(next)).not.toContain('CHAOS-NET')
  })

  it('disrupts the cluster IP of a Service and the IPs of its present and later pods', async () => {
    const first = await addressOf('web-1')
    const ports = [{ name: 'http', port: 80, targetPort: 8080 }]
    const body = { metadata: { name: 'web' }, spec: { selector: { app: 'web' }, ports } }
    const service = await kube.request<KubeObject>('POST', path('services'), { body })
    const { clusterIP } = service['spec'] as { readonly clusterIP: string }
    const told = ['--services', `web;${namespace};80-http;100`, '--host-resolve-interval', '500ms']
    const injector = await stage.injected(args(...told), { env: inCluster('chaos-4') })
    const rules = () => inside(app, 'iptables', '-t', 'mangle', '-S', 'CHAOS-NET')
    expect(rules()).toContain(`-d ${clusterIP}/32 -p tcp -m tcp --dport 80 `)
    expect(rules()).toContain(`-d ${first}/32 -p tcp -m tcp --dport 8080 `)
    const second = await addressOf('web-2')
    await expect.poll(rules).toContain(`-d ${second}/32 -p tcp -m tcp --dport 8080 `)
    await injector.end()
    expect(networkState(app)).not.toContain('CHAOS-NET')
  })

  it('replaces a pod with its claims, and uncordons its node', async () => {
    const node = `node-${namespace}`
    const ip = `10.${process.pid % 200}.${turn}.9`
    await kube.request('POST', '/api/v1/nodes', { body: { metadata: { name: node } } })
    const claim = { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } }
    await kube.request('POST', path('persistentvolumeclaims'), { body: { metadata: { name: 'data' }, spec: claim } })
    const volumes = [{ name: 'data', persistentVolumeClaim: { claimName: 'data' } }]
    await createPod('target', { spec: { nodeName: node, volumes } })
    await kube.request('PATCH', path('pods/target/status'), patch({ status: { podIP: ip, podIPs: [{ ip }] } }))
    const told = [
      'pod-replacement',
      'inject',
      '--level',
      'pod',
      '--target-pod-ip',
      ip,
      '--delete-storage',
      '--force-delete',
    ]
    const context = ['--log-context-target-node-name', node, '--log-context-target-name', 'target']
    const injector = await stage.injected([...told, ...context], { env: inCluster('') })
    expect(await get('pods/target')).toBeUndefined()
    expect((await get('persistentvolumeclaims/data'))?.metadata.deletionTimestamp ?? 'gone').toBeTruthy()
    const isClosed = async () =>
      ((await kube.request<KubeObject>('GET', `/api/v1/nodes/${node}`))['spec'] as { unschedulable?: boolean })
        .unschedulable
    expect(await isClosed()).toBe(true)
    await injector.end()
    expect(await isClosed()).toBeUndefined()
    await kube.request('DELETE', `/api/v1/nodes/${node}`)
  })
})

function args(...told: readonly string[]): readonly string[] {
  return [
    ...['network-disruption', '--level', 'pod', '--target-containers', `app;${app.id}`, '--drop', '10'],
    ...['--chaos-namespace', namespace, '--log-context-disruption-namespace', namespace],
    ...['--log-context-target-name', 'target', ...told],
  ]
}

function inCluster(pod: string) {
  return { KUBECONFIG: kubeconfigPath, INJECTOR_POD_NAME: pod }
}

function path(rest: string): string {
  return `/api/v1/namespaces/${namespace}/${rest}`
}

function patch(body: unknown) {
  return { body, contentType: 'application/merge-patch+json' }
}

async function createPod(name: string, { spec = {}, ...metadata }: Readonly<Record<string, unknown>> = {}) {
  const body = {
    metadata: { name, ...metadata },
    spec: { containers: [{ name: 'app', image: 'none' }], automountServiceAccountToken: false, ...(spec as object) },
  }
  await kube.request('POST', path('pods'), { body })
}

/** The address of a new pod of the Service. */
async function addressOf(name: string): Promise<string> {
  await createPod(name, { labels: { app: 'web' } })
  const found = async () => ((await get(`pods/${name}`))?.['status'] as { readonly podIP?: string } | undefined)?.podIP
  await expect.poll(found).toMatch(/^10\./)
  return (await found()) ?? ''
}

/** The status as a kubelet writes it. */
async function runs(name: string, id: string): Promise<void> {
  const status = { name: 'app', image: 'none', imageID: '', ready: true, restartCount: 0, containerID: id }
  const state = { running: { startedAt: new Date().toISOString() } }
  const containerStatuses = [{ ...status, state }]
  await kube.request('PATCH', path(`pods/${name}/status`), patch({ status: { phase: 'Running', containerStatuses } }))
}

async function get(rest: string): Promise<KubeObject | undefined> {
  try {
    return await kube.request<KubeObject>('GET', path(rest))
  } catch (error) {
    if (isNotFound(error)) return undefined
    throw error
  }
}
