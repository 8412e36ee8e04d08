// Tests the program `pawl node-agent` against a real API server with pods of several containers: addresses, volumes, probes, restarts, ends, and what a namespace
// leaves when it is deleted.

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, inject, it, vi } from 'vitest'

import type { KubeObject } from '../../activities/kube/client.ts'
import { isNotFound } from '../../activities/kube/errors.ts'
import { resourcePath } from '../../activities/kube/resource-path.ts'
import { PodFolder } from '../../worker/node-agent/pod-folder.ts'
import type { PodStatus } from '../../worker/node-agent/status-fields.ts'
import { isRunning } from '../../worker/server/process-identity.ts'
import { Cluster } from '../support/cluster/cluster.ts'

const { kubeconfigPath } = inject('servers')
const NAMESPACE = 'node-agent'
const PATIENCE = { timeout: 30_000, interval: 50 }
const PROGRAM = new URL('../../worker/program.ts', import.meta.url).pathname
const DECLARATION = new URL('node-agent-pods.js', import.meta.url).pathname

/** Serves the files of its container, and ends on request. */
const SERVER = `
const { createServer } = require('node:http')
const { readFileSync } = require('node:fs')
process.on('SIGTERM', () => process.exit(0))
createServer(({ url }, answer) => {
  if (url === '/crash') process.exit(3)
  try { answer.end(readFileSync(process.env.ROOT + url)) } catch { answer.writeHead(404).end() }
}).listen(8080, process.env.POD_IP)`

const cluster = new Cluster(kubeconfigPath, NAMESPACE)
const { kube } = cluster
let state: string
let agent: ChildProcess | undefined

beforeAll(async () => {
  state = await mkdtemp(join(tmpdir(), 'node-agent-'))
  await cluster.createNamespace()
  await vi.waitFor(async () => await kube.request('GET', path('serviceaccounts', 'default')), PATIENCE)
  startAgent()
}, 60_000)

afterAll(async () => {
  await stopAgent('SIGTERM')
  await rm(state, { recursive: true, force: true, maxRetries: 10 })
  await kube.close()
})

function startAgent(): void {
  const flags = ['--nodes', 'all', '--wings', 'chaos', '--pods', DECLARATION, '--state', state, '--restart-delay', '1s']
  const place = ['--kubeconfig', kubeconfigPath, '--provide-volumes', 'yes', '--chaos-namespace', NAMESPACE]
  agent = spawn(process.execPath, [PROGRAM, 'node-agent', ...flags, ...place, '--at-end', 'stop'], {
    stdio: ['ignore', 'ignore', 'inherit'],
    env: { ...process.env, PAWL_LOG_LEVEL: 'error' },
  })
}

/** After SIGTERM the agent ends the processes of all pods; SIGKILL leaves them. */
async function stopAgent(signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
  if (agent === undefined || agent.exitCode !== null || agent.signalCode !== null) return
  const exit = once(agent, 'exit')
  agent.kill(signal)
  await exit
}

interface StartedPod extends KubeObject {
  readonly status: {
    readonly containerStatuses: readonly { readonly name: string; readonly restartCount: number }[]
  }
}

const path = (plural: string, name?: string) => resourcePath({ apiVersion: 'v1', plural }, NAMESPACE, name)

async function create(plural: string, kind: string, name: string, fields: object): Promise<void> {
  await kube.request('POST', path(plural), { body: { apiVersion: 'v1', kind, metadata: { name }, ...fields } })
}

async function createPod(name: string, spec: object): Promise<void> {
  const metadata = { name, labels: { 'pawl.dev/node-agent': 'yes', app: name } }
  const body = { metadata, spec: { terminationGracePeriodSeconds: 5, ...spec } }
  await kube.request('POST', path('pods'), { body })
}

interface FoundPod extends KubeObject {
  readonly status: PodStatus
}

async function until(name: string, expected: object): Promise<FoundPod> {
  return await vi.waitFor(async () => {
    const pod = await kube.request<FoundPod>('GET', path('pods', name))
    expect(pod.status).toMatchObject(expected)
    return pod
  }, PATIENCE)
}

async function untilGone(plural: string, name: string): Promise<void> {
  await vi.waitFor(async () => {
    await expect(kube.request('GET', path(plural, name))).rejects.toSatisfy(isNotFound)
  }, PATIENCE)
}

const ready = (status: 'True' | 'False') => ({
  conditions: expect.arrayContaining([expect.objectContaining({ type: 'Ready', status })]) as unknown,
})

const WEB_POD = {
  initContainers: [
    {
      name: 'init',
      image: 'i',
      command: ['sh', '-c', 'test -s etc/config/text && cp etc/config/text var/shared/copy'],
    },
  ],
  containers: [
    {
      name: 'web',
      image: 'i',
      command: ['node', '-e', SERVER],
      ports: [{ name: 'http', containerPort: 8080 }],
      readinessProbe: { httpGet: { port: 'http', path: '/etc/config/text' }, periodSeconds: 1 },
      livenessProbe: { tcpSocket: { port: 8080 }, periodSeconds: 1, initialDelaySeconds: 2 },
    },
    {
      name: 'side',
      image: 'i',
      command: ['sh', '-c', 'echo $WORD >var/shared/word; exec sleep 1000'],
      env: [{ name: 'WORD', valueFrom: { secretKeyRef: { name: 'secret', key: 'word' } } }],
      readinessProbe: { exec: { command: ['test', '-s', '/var/shared/word'] }, periodSeconds: 1 },
    },
  ],
  volumes: [
    { name: 'config', configMap: { name: 'config' } },
    { name: 'secret', secret: { secretName: 'secret', items: [{ key: 'word', path: 'deep/word' }] } },
    { name: 'shared', emptyDir: {} },
    { name: 'data', persistentVolumeClaim: { claimName: 'data' } },
    { name: 'info', downwardAPI: { items: [{ path: 'app', fieldRef: { fieldPath: "metadata.labels['app']" } }] } },
  ],
}
const volumeMounts = [
  { name: 'config', mountPath: '/etc/config' },
  { name: 'secret', mountPath: '/etc/secret' },
  { name: 'shared', mountPath: '/var/shared' },
  { name: 'data', mountPath: '/var/data' },
  { name: 'info', mountPath: '/etc/info' },
]
const mounted = (one: object) => ({ ...one, volumeMounts })
const webPod = {
  ...WEB_POD,
  initContainers: WEB_POD.initContainers.map(mounted),
  containers: WEB_POD.containers.map(mounted),
}

describe('a pod with several containers, on a node without a kubelet', () => {
  it(
    'runs with its own address, its volumes and probes, and restarts a container that ends',
    { timeout: 60_000 },
    async () => {
      await create('configmaps', 'ConfigMap', 'config', { data: { text: 'one' } })
      await create('secrets', 'Secret', 'secret', { stringData: { word: 'hidden' } })
      await create('persistentvolumeclaims', 'PersistentVolumeClaim', 'data', {
        spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
      })
      await createPod('web', webPod)
      const { status } = await until('web', {
        phase: 'Running',
        ...ready('True'),
        initContainerStatuses: [{ name: 'init', ready: true, state: { terminated: { exitCode: 0 } } }],
        containerStatuses: [
          { name: 'web', ready: true, restartCount: 0 },
          { name: 'side', ready: true },
        ],
      })
      expect(status.podIP).toMatch(/^127\.(?:6[4-9]|[7-9]\d|1[01]\d|12[0-7])\.\d+\.\d+$/)
      const read = async (file: string) => await (await fetch(`http://${status.podIP ?? ''}:8080${file}`)).text()
      const claim = await kube.request<KubeObject & { status: object }>('GET', path('persistentvolumeclaims', 'data'))
      expect(claim.status).toMatchObject({ phase: 'Bound' })
      const token = '/var/run/secrets/kubernetes.io/serviceaccount/token'
      expect(
        await Promise.all(['/var/shared/copy', '/var/shared/word', '/etc/secret/deep/word', '/etc/info/app'].map(read)),
      ).toEqual([...['one', 'hidden\n', 'hidden', 'web']])
      const [, payload = ''] = (await read(token)).split('.')
      expect(JSON.parse(Buffer.from(payload, 'base64url').toString())).toMatchObject({
        'kubernetes.io': { namespace: NAMESPACE, pod: { name: 'web' } },
      })

      await kube.request('PATCH', path('configmaps', 'config'), {
        body: { data: { text: 'two' } },
        contentType: 'application/merge-patch+json',
      })
      await vi.waitFor(async () => expect(await read('/etc/config/text')).toBe('two'), PATIENCE)

      await read('/crash').catch(() => undefined)
      await until('web', {
        phase: 'Running',
        ...ready('True'),
        containerStatuses: [
          {
            name: 'web',
            restartCount: 1,
            state: { running: {} },
            lastState: { terminated: { exitCode: 3, reason: 'Error' } },
          },
          { name: 'side', restartCount: 0 },
        ],
      })
    },
  )

  it('is restarted after its agent ended its processes and ended', { timeout: 60_000 }, async () => {
    const web = async () => await kube.request<StartedPod>('GET', path('pods', 'web'))
    const { metadata, status } = await web()
    const { process: side } = await new PodFolder(join(state, 'pods', metadata.uid ?? ''))
      .container('side')
      .run(0)
      .traces()
    await stopAgent('SIGTERM')
    expect(isRunning(side!)).toBe(false)
    startAgent()
    const restarted = status.containerStatuses.map(({ name, restartCount }) => {
      return { name, ready: true, restartCount: restartCount + 1 }
    })
    await until('web', { phase: 'Running', ...ready('True'), containerStatuses: restarted })
  })

  it('continues while its agent is replaced, and is ended with its processes', { timeout: 60_000 }, async () => {
    const { metadata } = await kube.request<KubeObject>('GET', path('pods', 'web'))
    const folder = new PodFolder(join(state, 'pods', metadata.uid ?? ''))
    const { process: side } = await folder.container('side').run(1).traces()
    await stopAgent('SIGKILL')
    expect(isRunning(side!)).toBe(true)
    startAgent()
    await kube.request('DELETE', path('pods', 'web'))
    await untilGone('pods', 'web')
    expect(isRunning(side!)).toBe(false)
    await vi.waitFor(async () => expect(await folder.read()).toBeUndefined(), PATIENCE)
  })

  it('waits between restarts of a container that crashes', { timeout: 60_000 }, async () => {
    await createPod('crashing', { containers: [{ name: 'main', image: 'i', command: ['sh', '-c', 'exit 4'] }] })
    await until('crashing', {
      phase: 'Running',
      ...ready('False'),
      containerStatuses: [
        { state: { waiting: { reason: 'CrashLoopBackOff' } }, lastState: { terminated: { exitCode: 4 } } },
      ],
    })
    await until('crashing', { containerStatuses: [{ restartCount: 2 }] })
  })
})

describe('a namespace with pods', () => {
  it('leaves no process, no folder and no volume when it is deleted', { timeout: 90_000 }, async () => {
    const write = 'cat var/data/file 2>/dev/null; echo kept >var/data/file; exec sleep 1000'
    await createPod('data', {
      ...webPod,
      initContainers: [],
      containers: [mounted({ name: 'main', image: 'i', command: ['sh', '-c', write] })],
    })
    const { metadata } = await until('data', { phase: 'Running' })
    const { process: main } = await new PodFolder(join(state, 'pods', metadata.uid ?? ''))
      .container('main')
      .run(0)
      .traces()
    const volumes = resourcePath({ apiVersion: 'v1', plural: 'persistentvolumes' }, undefined)
    const ours = async () =>
      (
        await kube.request<{ items: readonly { spec: { claimRef?: { namespace: string } } }[] }>('GET', volumes)
      ).items.filter(({ spec }) => spec.claimRef?.namespace === NAMESPACE)
    expect(await ours()).toHaveLength(1)
    await kube.request('DELETE', `/api/v1/namespaces/${NAMESPACE}`)
    await vi.waitFor(async () => expect(await ours()).toEqual([]), { timeout: 60_000, interval: 100 })
    expect(isRunning(main!)).toBe(false)
    await vi.waitFor(async () => expect(await readdir(join(state, 'pods'))).toEqual([]), PATIENCE)
    expect(await readdir(join(state, 'volumes'))).toEqual([])
  })
})
