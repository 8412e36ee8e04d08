// The program `pawl node-agent` against a real API server: what whoever looks at a chaos pod sees, with injectors that are a few lines of shell.

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { kill } from 'node:process'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, inject, it, vi } from 'vitest'

import { PodFolder } from '../../activities/chaos/node-agent/pod-folder.ts'
import { isThere } from '../../activities/chaos/node-agent/processes.ts'
import type { KubeObject } from '../../activities/kube/client.ts'
import { resourcePath } from '../../activities/kube/resource-path.ts'
import { isNotFound } from '../../activities/kube/errors.ts'
import { chaosPod, DEAF_INJECTOR, GOOD_INJECTOR, type PodOptions } from '../activities/chaos/node-agent/chaos-pods.ts'
import { ApiProxy } from '../support/api-proxy.ts'
import { Cluster } from '../support/cluster.ts'
import { refused } from '../support/read-faults.ts'

const FINALIZER = 'finalizer.chaos.datadoghq.com/chaos-pod'
// Simulated nodes, whose own kubelet leaves chaos pods alone (deploy/binaries/kwok/stages.yaml).
const [NODE, OTHER_NODE] = ['node-1', 'node-2']
const PROGRAM = new URL('../../worker/program.ts', import.meta.url).pathname
const PATIENCE = { timeout: 30_000, interval: 50 }

const { kubeconfigPath } = inject('servers')
const cluster = new Cluster(kubeconfigPath, 'chaos-node-agent')
const { kube, namespace } = cluster

interface PodStatus {
  readonly phase: string
  readonly reason?: string
  readonly startTime?: string
  readonly podIP?: string
  readonly conditions?: readonly { readonly type: string; readonly status: string }[]
  readonly containerStatuses?: readonly {
    readonly name: string
    readonly started: boolean
    readonly ready: boolean
    readonly state: Readonly<Record<string, Readonly<Record<string, unknown>>>>
  }[]
}

let dir: string
const agents: ChildProcess[] = []

beforeAll(async () => {
  await cluster.createNamespace()
  // Without it pods are refused.
  const account = `/api/v1/namespaces/${namespace}/serviceaccounts/default`
  await vi.waitFor(async () => await kube.request('GET', account), PATIENCE)
})
afterAll(() => kube.close())

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'node-agent-'))
})
afterEach(async () => {
  for (const agent of agents.splice(0)) await killAgent(agent)
  for (const pod of (await kube.request<{ items: KubeObject[] }>('GET', pods())).items) {
    await kube.request('PATCH', pods(pod.metadata.name), mergePatch({ metadata: { finalizers: null } }))
    await removePod(pod.metadata.name, 0).catch(gone)
  }
  for (const folder of await folders()) {
    const { injector } = await folder.traces()
    if (injector !== undefined && (await isThere(injector))) kill(-injector.pid, 'SIGKILL')
  }
  await rm(dir, { recursive: true, force: true, maxRetries: 10 })
})

function pods(name?: string): string {
  return resourcePath({ apiVersion: 'v1', plural: 'pods' }, namespace, name)
}

const mergePatch = (body: object) => ({ body, contentType: 'application/merge-patch+json' })
const gone = (error: unknown) => {
  if (!isNotFound(error)) throw error
}

async function createPod(options: PodOptions = {}): Promise<void> {
  await kube.request('POST', pods(), { body: chaosPod({ node: NODE, namespace, ...options }) })
}

/** As a controller does it, or, with a grace, as `kubectl delete --grace-period`. */
async function removePod(name = 'chaos-one', graceSeconds?: number): Promise<void> {
  const query = graceSeconds === undefined ? {} : { query: { gracePeriodSeconds: String(graceSeconds) } }
  await kube.request('DELETE', pods(name), query)
}

async function statusOf(name = 'chaos-one'): Promise<PodStatus | undefined> {
  try {
    return (await kube.request<KubeObject & { status: PodStatus }>('GET', pods(name))).status
  } catch (error) {
    gone(error)
    return undefined
  }
}

async function until(expected: object, name?: string): Promise<PodStatus> {
  return await vi.waitFor(async () => {
    const status = await statusOf(name)
    expect(status).toMatchObject(expected)
    return status!
  }, PATIENCE)
}

async function untilGone(name?: string): Promise<void> {
  await vi.waitFor(async () => expect(await statusOf(name)).toBeUndefined(), PATIENCE)
}

const ready = (status: 'True' | 'False') => ({
  conditions: expect.arrayContaining([expect.objectContaining({ type: 'Ready', status })]) as unknown,
})
const terminated = (state: object) => ({ containerStatuses: [{ name: 'injector', state: { terminated: state } }] })
const RUNNING = { phase: 'Running', ...ready('True') }

/** @param script of the injector; undefined: the one of this package. */
async function startAgent(script: string | undefined, ...flags: readonly string[]): Promise<ChildProcess> {
  const injector = join(dir, 'injector')
  const sweep = `if [ "$1" = sweep ]; then echo swept >>${join(dir, 'swept')}; exit 0; fi`
  await writeFile(injector, `#!/bin/sh\n${sweep}\n${script ?? ''}`, { mode: 0o755 })
  const args = ['--nodes', NODE, '--namespace', namespace, '--state', join(dir, 'state')]
  const kubeconfig = flags.includes('--kubeconfig') ? [] : ['--kubeconfig', kubeconfigPath]
  const given = [...args, ...(script === undefined ? [] : ['--injector', injector]), ...kubeconfig, ...flags]
  const agent = spawn(process.execPath, [PROGRAM, 'node-agent', ...given], { stdio: ['ignore', 'ignore', 'inherit'] })
  agents.push(agent)
  return agent
}

async function killAgent(agent: ChildProcess, signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
  if (agent.exitCode !== null || agent.signalCode !== null) return
  const exit = once(agent, 'exit')
  agent.kill(signal)
  await exit
}

async function folders(): Promise<readonly PodFolder[]> {
  const path = join(dir, 'state/pods')
  return (await readdir(path).catch(() => [])).map((uid) => new PodFolder(join(path, uid)))
}

async function onlyFolder(): Promise<PodFolder> {
  const [folder, ...more] = await folders()
  expect(more).toEqual([])
  return folder!
}

describe('a chaos pod on a node without kubelet', () => {
  it('runs, is ready, ends well when it is deleted, and goes when its finalizer does', async () => {
    await startAgent(GOOD_INJECTOR)
    await createPod({ finalizers: [FINALIZER] })
    const running = await until(RUNNING)
    expect(running.startTime).toBeDefined()
    expect(running).toMatchObject({
      ...{ hostIP: '127.0.0.1', podIP: '127.0.0.1' },
      containerStatuses: [{ name: 'injector', started: true, ready: true, state: { running: {} } }],
    })
    await removePod()
    await until({ phase: 'Succeeded', ...ready('False'), ...terminated({ exitCode: 0, reason: 'Completed' }) })
    // It is let go, and stays for its finalizer only.
    await vi.waitFor(async () => {
      const { metadata } = await kube.request<KubeObject>('GET', pods('chaos-one'))
      expect(metadata).toMatchObject({ deletionGracePeriodSeconds: 0 })
    }, PATIENCE)
    await kube.request('PATCH', pods('chaos-one'), mergePatch({ metadata: { finalizers: null } }))
    await untilGone()
    await vi.waitFor(async () => expect(await folders()).toEqual([]), PATIENCE)
    await expect(readFile(join(dir, 'swept'))).rejects.toThrow('ENOENT')
  })

  it('without a finalizer is gone when its injector has ended', async () => {
    await startAgent(GOOD_INJECTOR)
    await createPod()
    await until(RUNNING)
    await removePod()
    await untilGone()
    await vi.waitFor(async () => expect(await folders()).toEqual([]), PATIENCE)
  })

  it('runs and is not ready while nothing is injected', async () => {
    await startAgent('while :; do sleep 0.05; done')
    await createPod()
    await until({ phase: 'Running', ...ready('False'), containerStatuses: [{ ready: false, started: true }] })
  })

  it('has the variables of its pod, and processes for the containers of its target, also anew', async () => {
    const processes = (pid: number) => ({ annotations: { 'pawl.dev/processes': `{"app":${pid}}` } })
    const spec = { nodeName: OTHER_NODE, containers: [{ name: 'app', image: 'app' }] }
    await kube.request('POST', pods(), { body: { metadata: { name: 'app', ...processes(4321) }, spec } })
    const script =
      'echo "$INJECTOR_POD_NAME $TARGET_POD_HOST_IP $CHAOS_INJECTOR_MOUNT_HOST $@ $CHAOS_INJECTOR_CONTAINERS"'
    await startAgent(`${script}\n${GOOD_INJECTOR}`, '--host-ip', '10.1.2.3')
    await createPod({ args: ['cpu-pressure', '--path', '/mnt/host/data'] })
    await until({ ...RUNNING, hostIP: '10.1.2.3' })
    const { log, containers } = await onlyFolder()
    expect(await readFile(log, 'utf8')).toContain(`chaos-one 10.1.2.3 / cpu-pressure --path /data ${containers}\n`)
    expect(await readFile(containers, 'utf8')).toBe('{"app":4321}')
    await kube.request('PATCH', pods('app'), mergePatch({ metadata: processes(5432) }))
    await vi.waitFor(async () => expect(await readFile(containers, 'utf8')).toBe('{"app":5432}'), PATIENCE)
  })

  it('does not disturb the machine itself, unless that is allowed', async () => {
    await startAgent(GOOD_INJECTOR)
    await createPod({ args: ['cpu-pressure', '--level', 'node'] })
    const message = '--level node: this machine itself would be disturbed, expected --node-level allow'
    await until({ phase: 'Failed', ...terminated({ exitCode: 128, reason: 'StartError', message }) })
  })

  it('fails with its injector', async () => {
    await startAgent('exit 1')
    await createPod()
    await until({ phase: 'Failed', ...terminated({ exitCode: 1, reason: 'Error' }) })
  })

  it('fails when its injector cannot be started', async () => {
    await startAgent(GOOD_INJECTOR, '--injector', '/no/such/injector')
    await createPod()
    await until({ phase: 'Failed', ...terminated({ exitCode: 128, reason: 'StartError' }) })
  })

  it('fails at its deadline, although its injector has cleaned up', async () => {
    await startAgent(GOOD_INJECTOR)
    await createPod({ activeDeadlineSeconds: 2 })
    await until({ phase: 'Failed', reason: 'DeadlineExceeded', ...terminated({ exitCode: 0 }) })
    expect(await readFile((await onlyFolder()).log, 'utf8')).toBe('injected\ncleaned\n')
  })

  it('whose injector does not end is killed after its grace', async () => {
    await startAgent(DEAF_INJECTOR)
    await createPod({ finalizers: [FINALIZER] })
    await until(RUNNING)
    await removePod('chaos-one', 1)
    await until({ phase: 'Failed', ...terminated({ exitCode: 137, reason: 'Error' }) })
  })

  it('that goes before anything was started never runs', async () => {
    await createPod({ finalizers: [FINALIZER] })
    await removePod()
    await startAgent(GOOD_INJECTOR)
    await vi.waitFor(async () => {
      const { metadata } = await kube.request<KubeObject>('GET', pods('chaos-one'))
      expect(metadata).toMatchObject({ deletionGracePeriodSeconds: 0 })
    }, PATIENCE)
    expect((await statusOf())?.phase).toBe('Pending')
    expect(await folders()).toEqual([])
  })

  it('of another node is left alone', async () => {
    await startAgent(GOOD_INJECTOR)
    await createPod({ name: 'chaos-other', node: OTHER_NODE })
    await createPod()
    await until(RUNNING)
    expect((await statusOf('chaos-other'))?.phase).toBe('Pending')
  })
})

describe('a chaos pod with the injector of this package', () => {
  it('disturbs the process that stands for its target, and is let go when it has cleaned up', async () => {
    const target = spawn('sleep', ['1000'], { stdio: 'ignore' })
    const ended = once(target, 'exit')
    try {
      const metadata = { name: 'app', annotations: { 'pawl.dev/processes': `{"app":${target.pid}}` } }
      const spec = { nodeName: OTHER_NODE, containers: [{ name: 'app', image: 'app' }] }
      await kube.request('POST', pods(), { body: { metadata, spec } })
      const { containerStatuses: [app] = [] } = await until({ phase: 'Running' }, 'app')
      const id = (app as unknown as { readonly containerID: string }).containerID
      expect(id).toMatch(/^kwok:\/\//)
      await startAgent(undefined)
      await createPod({
        finalizers: [FINALIZER],
        args: [
          ...['container-failure', '--forced', '--level', 'pod', '--target-containers', `app;${id}`],
          ...['--chaos-namespace', namespace, '--log-context-target-name', 'app'],
          ...['--log-context-disruption-namespace', namespace],
        ],
      })
      expect(await ended).toEqual([null, 'SIGKILL'])
      await until(RUNNING)
      await removePod()
      // The injector itself takes off the finalizer when it is clean.
      await untilGone()
      await vi.waitFor(async () => expect(await folders()).toEqual([]), PATIENCE)
    } finally {
      target.kill('SIGKILL')
    }
  })
})

describe('an agent that was killed', () => {
  it('takes up the injector that went on', async () => {
    const first = await startAgent(GOOD_INJECTOR)
    await createPod({ finalizers: [FINALIZER] })
    await until(RUNNING)
    const { injector } = await (await onlyFolder()).traces()
    await killAgent(first)
    expect(await isThere(injector!)).toBe(true)
    await startAgent('exit 9')
    await removePod()
    await until({ phase: 'Succeeded', ...terminated({ exitCode: 0 }) })
    expect(await readFile((await onlyFolder()).log, 'utf8')).toBe('injected\ncleaned\n')
  })

  it('tells how injectors ended meanwhile', async () => {
    const first = await startAgent(GOOD_INJECTOR)
    await createPod()
    await until(RUNNING)
    const { injector } = await (await onlyFolder()).traces()
    await killAgent(first)
    kill(injector!.pid, 'SIGTERM')
    await vi.waitFor(async () => expect(await isThere(injector!)).toBe(false), PATIENCE)
    expect((await statusOf())?.phase).toBe('Running')
    await startAgent('exit 9')
    await until({ phase: 'Succeeded', ...terminated({ exitCode: 0, reason: 'Completed' }) })
  })

  it('ends and sweeps those whose pod is gone', async () => {
    const first = await startAgent(
      'trap "exit 1" TERM; touch "$CHAOS_INJECTOR_READINESS_FILE"; while :; do sleep 0.02; done',
    )
    await createPod()
    await until(RUNNING)
    const { injector } = await (await onlyFolder()).traces()
    await killAgent(first)
    await removePod('chaos-one', 0)
    await untilGone()
    await startAgent('exit 9')
    await vi.waitFor(async () => expect(await folders()).toEqual([]), PATIENCE)
    expect(await isThere(injector!)).toBe(false)
    expect(await readFile(join(dir, 'swept'), 'utf8')).toBe('swept\n')
  })
})

describe('an agent that is told to end', () => {
  it('leaves its injectors', async () => {
    const agent = await startAgent(GOOD_INJECTOR)
    await createPod()
    await until(RUNNING)
    const { injector } = await (await onlyFolder()).traces()
    await killAgent(agent, 'SIGTERM')
    expect(agent.exitCode).toBe(0)
    expect(await isThere(injector!)).toBe(true)
  })

  it('ends them, when it was asked to', async () => {
    const agent = await startAgent(GOOD_INJECTOR, '--at-end', 'stop')
    await createPod()
    await until(RUNNING)
    const { injector } = await (await onlyFolder()).traces()
    await killAgent(agent, 'SIGTERM')
    expect(agent.exitCode).toBe(0)
    expect(await isThere(injector!)).toBe(false)
    await startAgent(GOOD_INJECTOR)
    await until({ phase: 'Succeeded' })
  })
})

describe('while the API server is away', () => {
  it('injectors end in time, and it is told afterwards', async () => {
    const proxy = await ApiProxy.start(kubeconfigPath)
    try {
      await startAgent(GOOD_INJECTOR, '--kubeconfig', proxy.kubeconfigPath)
      await createPod({ activeDeadlineSeconds: 3 })
      await until(RUNNING)
      proxy.reads = { instead: () => refused({ status: 503, reason: 'ServiceUnavailable' }) }
      proxy.arm(undefined, () => 'lost before')
      proxy.cutWatches()
      const folder = await onlyFolder()
      await vi.waitFor(async () => expect((await folder.traces()).exit?.text).toBe('0'), PATIENCE)
      expect((await statusOf())?.phase).toBe('Running')
      proxy.reads = {}
      proxy.arm()
      await until({ phase: 'Failed', reason: 'DeadlineExceeded' })
    } finally {
      for (const agent of agents.splice(0)) await killAgent(agent)
      await proxy.stop()
    }
  })

  it('deletions are seen afterwards, also when the server has forgotten where the watch was', async () => {
    const proxy = await ApiProxy.start(kubeconfigPath)
    try {
      await startAgent(GOOD_INJECTOR, '--kubeconfig', proxy.kubeconfigPath)
      await createPod()
      await until(RUNNING)
      proxy.reads = { instead: () => refused({ status: 503, reason: 'ServiceUnavailable' }) }
      expect(proxy.expireWatches()).toBeGreaterThan(0)
      await removePod('chaos-one', 0)
      await untilGone()
      proxy.reads = {}
      await vi.waitFor(async () => expect(await folders()).toEqual([]), PATIENCE)
    } finally {
      for (const agent of agents.splice(0)) await killAgent(agent)
      await proxy.stop()
    }
  })
})

describe('pods that are only played', () => {
  it('are ready at once and end well, with three writes each', async () => {
    const proxy = await ApiProxy.start(kubeconfigPath)
    try {
      const names = Array.from({ length: 30 }, (_, index) => `chaos-${index}`)
      for (const name of names) await createPod({ name })
      await startAgent('exit 9', '--play', 'ready', '--kubeconfig', proxy.kubeconfigPath)
      for (const name of names) await until(RUNNING, name)
      for (const name of names) await removePod(name)
      for (const name of names) await untilGone(name)
      expect(proxy.writes.map(({ label }) => label).sort()).toEqual([
        ...names.map(() => 'DELETE pods'),
        ...names.flatMap(() => ['PATCH pods/status', 'PATCH pods/status']),
      ])
      const ends = proxy.writes.flatMap(({ body }) => (body['status'] as { phase?: string } | undefined)?.phase ?? [])
      expect(ends.sort()).toEqual([...names.map(() => 'Running'), ...names.map(() => 'Succeeded')])
      expect(await folders()).toEqual([])
    } finally {
      for (const agent of agents.splice(0)) await killAgent(agent)
      await proxy.stop()
    }
  })
})
