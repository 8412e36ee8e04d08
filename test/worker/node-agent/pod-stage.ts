// The fixture of a test file that runs pods as real processes.
//
//   P1. Each file has its own pod uid. An agent stops processes by the uid in their environment, on the whole machine, so
//       a shared uid would let one test file stop the processes of another one that runs at the same time.

import { randomUUID } from 'node:crypto'
import { mkdir, mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, vi } from 'vitest'

import type { KubeObject } from '../../../activities/kube/client.ts'
import { KubeError } from '../../../activities/kube/errors.ts'
import type { OpenPods } from '../../../activities/pods.ts'
import type { AgentPod } from '../../../worker/node-agent/agent-pod.ts'
import { findNamespaces, type Namespaces } from '../../../worker/node-agent/container-root.ts'
import type { PodFacts } from '../../../worker/node-agent/decide.ts'
import { PodFolder } from '../../../worker/node-agent/pod-folder.ts'
import { ProcessPod } from '../../../worker/node-agent/pod-run.ts'
import { signalTo } from '../../../worker/node-agent/processes.ts'
import { WatchedObjects } from '../../../worker/node-agent/watched-objects.ts'
import { isRunning } from '../../../worker/server/process-identity.ts'
import { agentPod, type PodOptions } from './pods.ts'

export const DEAF = 'trap "" TERM; touch ready; while :; do sleep 0.02; done'
export const READY = { exec: { command: ['test', '-f', 'ready'] }, periodSeconds: 0.05 }
export const RUNNING = { run: { state: 'running', isReady: true } }
export const PATIENCE = { timeout: 10_000, interval: 20 }
export const ABSENT = { run: { state: 'none' as const }, restarts: 0, crashes: 0 }

const found = await findNamespaces(process.env['PATH'] ?? '')
/** Undefined: this machine cannot give a container its own file system. */
export const namespaces: Namespaces | undefined = 'problem' in found ? undefined : found

/** The container `main` that runs a shell script. */
export const script = (text: string, more: object = {}) => ({ name: 'main', command: ['sh', '-c', text], ...more })

export class PodStage {
  /** P1 */
  readonly uid = randomUUID()
  readonly #runs: ProcessPod[] = []
  #dir: string | undefined

  /** A folder for each test. */
  get dir(): string {
    if (this.#dir === undefined) throw new Error('the folder is created by beforeEach')
    return this.#dir
  }

  get folder(): PodFolder {
    return new PodFolder(join(this.dir, this.uid))
  }

  pod(options: PodOptions = {}): AgentPod {
    return agentPod({ uid: this.uid, ...options })
  }

  async traces(run = 0) {
    return await this.folder.container('main').run(run).traces()
  }

  async log(run = 0): Promise<string> {
    return await readFile(this.folder.container('main').run(run).log, 'utf8').catch(() => '')
  }

  /** The view of another agent of the same pod. Containers run their commands. */
  runOf(pod: AgentPod, pods: Partial<OpenPods> = {}, objects: readonly KubeObject[] = []): ProcessPod {
    const process: OpenPods['process'] = async ({ command, args, env }) =>
      await Promise.resolve({ argv: [...command, ...args], env: { PATH: '/usr/bin:/bin', ...env } })
    const kube = {
      request: async <T>(_: string, path: string) => {
        const found = objects.find(({ metadata: { name } }) => path.endsWith(`/${name}`))
        if (found === undefined) throw new KubeError('missing', { status: 404, reason: 'NotFound' })
        return await Promise.resolve(found as T)
      },
      stream: async () => await Promise.reject(new Error('no watch')),
    }
    const claim = join(this.dir, 'claim')
    const run = new ProcessPod(pod, {
      wing: 'test',
      pods: { process, ...pods },
      kube,
      folder: this.folder,
      hostIP: '127.0.0.1',
      podIP: '127.64.0.1',
      objects: new WatchedObjects(kube),
      namespaces,
      claimFolder: async () => {
        await mkdir(claim, { recursive: true })
        return claim
      },
      onChange: () => undefined,
      now: () => Date.now(),
    })
    this.#runs.push(run)
    return run
  }

  async started(pod: AgentPod, pods?: Partial<OpenPods>, objects?: readonly KubeObject[]): Promise<ProcessPod> {
    const run = this.runOf(pod, pods, objects)
    await run.accept(pod, 77)
    await run.start('main', ABSENT)
    return run
  }

  async setUp(): Promise<void> {
    this.#dir = await mkdtemp(join(tmpdir(), 'node-agent-'))
  }

  async tearDown(): Promise<void> {
    for (const run of this.#runs.splice(0)) {
      await run.kill().catch(() => undefined)
      run.close()
    }
    const { process, shim } = await this.traces()
    if (process !== undefined) signalTo(process, 'SIGKILL', 'group')
    if (shim !== undefined) await vi.waitFor(() => expect(isRunning(shim)).toBe(false), PATIENCE)
    // A process that just ended may still have created a file.
    await rm(this.dir, { recursive: true, maxRetries: 5 })
  }
}

/** A stage for the tests of the file. */
export function usePodStage(): PodStage {
  const stage = new PodStage()
  beforeEach(async () => await stage.setUp())
  afterEach(async () => await stage.tearDown())
  return stage
}

/** Waits until the container `main` has these facts. */
export async function until(run: ProcessPod, expected: object): Promise<PodFacts> {
  return await vi.waitFor(async () => {
    const found = await run.look(Date.now())
    expect(found.containers['main']).toMatchObject(expected)
    return found
  }, PATIENCE)
}

/** The state of a process as in /proc, such as S or Z; `gone` without a process. */
export async function stateOf(pid: string): Promise<string> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => undefined)
  return stat?.split(') ')[1]?.[0] ?? 'gone'
}
