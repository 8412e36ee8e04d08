// Watches the chaos pods of its nodes and runs a keeper for each, also for pods that only have a folder.
//
// A1. At its start, the agent continues the processes of a previous agent before it contacts the API server, so signals
//   are sent in time while the API server is unavailable.
// A2. A pod that is missing in the list is deleted; its process is ended and cleaned up.
// A3. A late event about a deleted pod does not start it again: the agent remembers its keeper until the watch reports
//   the deletion.

import { existsSync } from 'node:fs'
import { mkdir, readdir, link, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { DISRUPTION_KIND_LABEL } from '../../../workflows/chaos/contract.ts'
import type { KubeClient, KubeObject } from '../../kube/client.ts'
import { resourcePath } from '../../kube/resource-path.ts'
import { followObjects } from '../../kube/follow-objects.ts'
import type { AgentFlags } from './flags.ts'
import { type Log, textOf } from '../injector/log.ts'
import { FakeRun } from './fake-run.ts'
import { PodFolder } from './pod-folder.ts'
import { PodKeeper, Semaphore } from './pod-keeper.ts'
import { type InjectorSettings, prepareInjector, followTarget } from './prepare-injector.ts'
import { ProcessRun } from './process-run.ts'
import { PODS, readPod, type AgentPod } from './read-pod.ts'
import type { ProcessRef } from '../../../workflows/chaos/injector/command.ts'
import { bootId, isGone } from '../injector/processes.ts'
import { isRunning, ownProcess } from './processes.ts'

export interface AgentDeps {
  readonly kube: Pick<KubeClient, 'request' | 'stream'>
  readonly flags: AgentFlags
  /** The command of the injector; unused by simulated pods. */
  readonly command: readonly string[]
  readonly env: Readonly<Record<string, string>>
  readonly log: Log
}

// A tenth of the API server's default limit of concurrent requests.
const PARALLEL_WRITES = 20

interface TrackedPod {
  readonly keeper: PodKeeper
  readonly done: Promise<void>
  /** The watch has reported the deletion. */
  isDeleted: boolean
  isDone: boolean
}

export class NodeAgent {
  private readonly deps: AgentDeps
  private readonly tracked = new Map<string, TrackedPod>()
  private readonly slots = new Semaphore(PARALLEL_WRITES)
  private readonly stopped = new AbortController()
  /** Deadlines and grace periods must also pass if the machine's clock is set back. */
  private readonly now = monotonicTime()

  constructor(deps: AgentDeps) {
    this.deps = deps
  }

  /** Runs until the signal. @throws if another agent has its folder. */
  async run(end: AbortSignal): Promise<void> {
    const { flags, log } = this.deps
    const unlock = flags.isFake ? undefined : await this.openFolder()
    try {
      await this.follow(end)
      log.info('ending', { pods: this.tracked.size, atEnd: flags.atEnd })
    } finally {
      this.stopped.abort()
      const tracked = [...this.tracked.values()]
      await Promise.all(tracked.map(({ done }) => done))
      if (flags.atEnd === 'stop') await Promise.all(tracked.map(({ keeper }) => keeper.end()))
      await unlock?.()
    }
  }

  /** A1 */
  private async openFolder(): Promise<() => Promise<void>> {
    const { flags, log } = this.deps
    const pods = join(flags.state, 'pods')
    await mkdir(pods, { recursive: true, mode: 0o700 })
    const unlock = await lockFolder(flags.state)
    for (const uid of await readdir(pods)) {
      const folder = new PodFolder(join(pods, uid))
      try {
        const record = await folder.read()
        const pod = record && readPod(record.pod)
        if (pod === undefined) await folder.remove()
        else if (this.isOurs(pod)) this.startKeeper(pod, 'disk')
        else
          log.error('ignored a pod that this node agent does not run', {
            pod: `${pod.namespace}/${pod.name}`,
            node: pod.nodeName,
          })
      } catch (error) {
        // A user has to inspect it.
        log.error('ignored a folder that cannot be read', { folder: folder.path, error: textOf(error) })
      }
    }
    if (this.tracked.size > 0) log.info('took over the pods of the previous node agent', { pods: this.tracked.size })
    return unlock
  }

  private async follow(end: AbortSignal): Promise<void> {
    const { kube, flags, log } = this.deps
    const [node, ...more] = flags.nodes ?? []
    const fields = node !== undefined && more.length === 0 ? { fieldSelector: `spec.nodeName=${node}` } : {}
    const query = { labelSelector: DISRUPTION_KIND_LABEL, ...fields }
    for await (const found of followObjects(kube, resourcePath(PODS, flags.namespace), { query, signal: end })) {
      switch (found.type) {
        case 'listed':
          this.syncAll(found.objects)
          break
        case 'event':
          if (found.eventType === 'DELETED') this.markDeleted(found.object.metadata.uid ?? '')
          else this.update(found.object)
          break
        case 'interrupted':
          log.warn('the watch was interrupted', { error: textOf(found.error), delayMs: found.delayMs })
      }
    }
  }

  /** A2 */
  private syncAll(objects: readonly KubeObject[]): void {
    const listedUids = new Set(objects.map(({ metadata }) => metadata.uid))
    for (const uid of this.tracked.keys()) if (!listedUids.has(uid)) this.markDeleted(uid)
    for (const object of objects) this.update(object)
  }

  private markDeleted(uid: string): void {
    const tracked = this.tracked.get(uid)
    if (tracked === undefined) return
    tracked.isDeleted = true
    if (tracked.isDone) this.tracked.delete(uid)
    else tracked.keeper.update(undefined)
  }

  private isOurs({ namespace, nodeName }: AgentPod): boolean {
    const { flags } = this.deps
    return namespace === flags.namespace && nodeName !== '' && flags.nodes?.has(nodeName) !== false
  }

  private update(object: KubeObject): void {
    const pod = readPod(object)
    const tracked = this.tracked.get(pod.uid)
    if (tracked !== undefined) tracked.keeper.update(pod)
    else if (this.isOurs(pod)) this.startKeeper(pod, 'server')
  }

  private startKeeper(pod: AgentPod, from: 'server' | 'disk'): void {
    const { kube, flags, log } = this.deps
    const run = flags.isFake ? new FakeRun(pod, this.now) : this.processOf(pod, () => keeper.requeue())
    const { hostIP, podIP } = flags
    const deps = { kube, run, log, hostIP, podIP, slots: this.slots, now: this.now, random: Math.random }
    const keeper = new PodKeeper(pod, from, deps)
    const done = keeper.keep(this.stopped.signal).then(() => {
      if (this.stopped.signal.aborted) return
      tracked.isDone = true
      if (tracked.isDeleted) this.tracked.delete(pod.uid)
    })
    const tracked: TrackedPod = { keeper, done, isDeleted: false, isDone: false }
    this.tracked.set(pod.uid, tracked)
  }

  private processOf({ uid }: AgentPod, onChange: () => void): ProcessRun {
    const { kube, flags, command, env, log } = this.deps
    const { hostIP, podIP, processesAnnotation } = flags
    const stateFolder = join(flags.state, 'injectors')
    const settings: InjectorSettings = {
      kube,
      command,
      env,
      stateFolder,
      hostIP,
      podIP,
      processesAnnotation,
      mayDisturbNode: flags.mayDisturbNode,
      simulates: flags.simulates,
    }
    return new ProcessRun({
      folder: new PodFolder(join(flags.state, 'pods', uid)),
      prepare: async (pod, folder) => await prepareInjector(settings, pod, folder),
      follow: (pod, folder, ended) => {
        // Updates are only needed if the injector got a containers file at its start.
        if (!existsSync(folder.containers)) return
        const signal = AbortSignal.any([ended, this.stopped.signal])
        void followTarget(pod, folder, { kube, annotation: processesAnnotation, log, signal })
      },
      sweepCommand: [...command, 'sweep'],
      onChange,
      log,
    })
  }
}

/**
 * A clock in milliseconds since the epoch that never runs backwards: it follows the machine's clock forward, and the
 * monotonic clock when the machine's clock is set back. Deadlines and grace periods of pods depend on it.
 *
 * @param now the machine's clock.
 * @param steady milliseconds of the monotonic clock.
 */
export function monotonicTime(
  now: () => number = () => Date.now(),
  steady: () => number = () => performance.now(),
): () => number {
  let [at, since] = [now(), steady()]
  return () => {
    const is = steady()
    at = Math.max(now(), at + (is - since))
    since = is
    return at
  }
}

interface Holder extends ProcessRef {
  readonly bootId: string
}

/**
 * Takes the lock, also from an agent that has ended. Returns a function that releases it. @throws with the agent that
 * holds the lock.
 */
export async function lockFolder(folder: string): Promise<() => Promise<void>> {
  const path = join(folder, 'agent.json')
  const own = `${path}.${process.pid}`
  await writeFile(own, JSON.stringify({ ...(await ownProcess()), bootId: await bootId('/proc') } satisfies Holder))
  try {
    for (;;) {
      // A link is created atomically, so no reader sees a partial file.
      if (await isLinked(own, path)) return async () => await rm(path, { force: true })
      const holder = await holderIn(path)
      if (holder !== undefined && holder.bootId === (await bootId('/proc')) && (await isRunning(holder)))
        throw new Error(
          `${folder}: the node agent with process ${holder.pid} uses this folder; stop that agent, or choose another folder`,
        )
      await rm(path, { force: true })
    }
  } finally {
    await rm(own, { force: true })
  }
}

async function isLinked(from: string, to: string): Promise<boolean> {
  try {
    await link(from, to)
    return true
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EEXIST') return false
    throw error
  }
}

async function holderIn(path: string): Promise<Holder | undefined> {
  try {
    return JSON.parse(await readFile(path, 'utf8')) as Holder
  } catch (error) {
    if (isGone(error)) return undefined
    throw error
  }
}
