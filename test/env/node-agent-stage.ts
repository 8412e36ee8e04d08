// Node agents of a test file: a namespace with chaos pods, agents that are real processes with a folder for each test, and what they leave.

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { kill } from 'node:process'
import { afterAll, afterEach, beforeAll, beforeEach, expect, vi } from 'vitest'

import type { KubeObject } from '../../activities/kube/client.ts'
import { isNotFound } from '../../activities/kube/errors.ts'
import { resourcePath } from '../../activities/kube/resource-path.ts'
import { PodFolder } from '../../worker/node-agent/pod-folder.ts'
import { isRunning } from '../../worker/server/process-identity.ts'
import { chaosPod, type PodOptions } from '../activities/chaos/pods/chaos-pods.ts'
import { Cluster } from '../support/cluster/cluster.ts'
import { HttpProxy } from '../support/faults/http-proxy.ts'

export const FINALIZER = 'finalizer.chaos.datadoghq.com/chaos-pod'
// Simulated nodes, whose own kubelet leaves chaos pods alone (deploy/binaries/kwok/stages.yaml).
const NODE = 'node-1'
export const OTHER_NODE = 'node-2'
export const PATIENCE = { timeout: 60_000, interval: 50 }
const PROGRAM = new URL('../../worker/program.ts', import.meta.url).pathname

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

export const ready = (status: 'True' | 'False') => ({
  conditions: expect.arrayContaining([expect.objectContaining({ type: 'Ready', status })]) as unknown,
})
export const terminated = (state: object) => ({
  containerStatuses: [{ name: 'injector', state: { terminated: state } }],
})
export const RUNNING = { phase: 'Running', ...ready('True') }

export const mergePatch = (body: object) => ({ body, contentType: 'application/merge-patch+json' })
const gone = (error: unknown) => {
  if (!isNotFound(error)) throw error
}

/** The traces of a chaos pod's injector. */
export const tracesOf = async (folder: PodFolder) => await folder.container('injector').run(0).traces()

/** @param namespace of the test file's own. */
export function useNodeAgents(kubeconfigPath: string, namespace: string) {
  const cluster = new Cluster(kubeconfigPath, namespace)
  const { kube } = cluster
  let dir = ''
  const agents: ChildProcess[] = []
  const proxies: HttpProxy[] = []

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
    for (const proxy of proxies.splice(0)) await proxy.stop()
    for (const pod of (await kube.request<{ items: KubeObject[] }>('GET', pods())).items) {
      await kube.request('PATCH', pods(pod.metadata.name), mergePatch({ metadata: { finalizers: null } }))
      await removePod(pod.metadata.name, 0).catch(gone)
    }
    for (const folder of await folders()) {
      const { process: injector } = await tracesOf(folder)
      if (injector !== undefined && isRunning(injector)) kill(-injector.pid, 'SIGKILL')
    }
    await rm(dir, { recursive: true, force: true, maxRetries: 10 })
  })

  function pods(name?: string): string {
    return resourcePath({ apiVersion: 'v1', plural: 'pods' }, namespace, name)
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

  /** @param script of the injector; undefined: the one of this package. */
  async function startAgent(script: string | undefined, ...flags: readonly string[]): Promise<ChildProcess> {
    const injector = join(dir, 'injector')
    const sweep = `if [ "$1" = sweep ]; then echo swept >>${join(dir, 'swept')}; exit 0; fi`
    await writeFile(injector, `#!/bin/sh\n${sweep}\n${script ?? ''}`, { mode: 0o755 })
    const args = ['--nodes', NODE, '--wings', 'chaos', '--chaos-namespace', namespace, '--state', join(dir, 'state')]
    const kubeconfig = flags.includes('--kubeconfig') ? [] : ['--kubeconfig', kubeconfigPath]
    const given = [...args, ...(script === undefined ? [] : ['--injector', injector]), ...kubeconfig, ...flags]
    const agent = spawn(process.execPath, [PROGRAM, 'node-agent', ...given], { stdio: ['ignore', 'ignore', 'inherit'] })
    agents.push(agent)
    return agent
  }

  /** Starts an agent whose requests pass a proxy. */
  async function startProxiedAgent(script: string | undefined, ...flags: readonly string[]): Promise<HttpProxy> {
    const proxy = await HttpProxy.start(kubeconfigPath)
    proxies.push(proxy)
    await startAgent(script, '--kubeconfig', proxy.kubeconfigPath, ...flags)
    return proxy
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

  async function folderOf(name = 'chaos-one'): Promise<PodFolder> {
    const { metadata } = await kube.request<KubeObject>('GET', pods(name))
    return new PodFolder(join(dir, 'state/pods', metadata.uid ?? ''))
  }

  return {
    kube,
    /** Of the test. */
    get dir() {
      return dir
    },
    pods,
    createPod,
    removePod,
    statusOf,
    until,
    untilGone,
    startAgent,
    startProxiedAgent,
    killAgent,
    folders,
    folderOf,
  }
}
