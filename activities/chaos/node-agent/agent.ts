// Follows the chaos pods of its nodes and has a keeper for each, also for those of which only a folder is left.
//
//   A1. What an agent before it has started is taken up before the API server is asked: signals go out in time while it is away.
//   A2. A pod that the list lacks is gone; what it has left is ended and swept.
//   A3. A pod that is gone is not taken up again by an event from before its end: its keeper is known until the watch has told of that.

import { existsSync } from 'node:fs'
import { mkdir, readdir } from 'node:fs/promises'
import { join } from 'node:path'

import { DISRUPTION_KIND_LABEL } from '../../../workflows/chaos/contract.ts'
import type { KubeClient, KubeObject } from '../../kube/client.ts'
import { resourcePath } from '../../kube/resource-path.ts'
import { followObjects } from '../../kube/follow-objects.ts'
import type { AgentFlags } from './flags.ts'
import { lockFolder } from './agent-lock.ts'
import { heldTime } from './held-time.ts'
import { type Log, textOf } from '../injector/log.ts'
import { PlayedRun } from './played-run.ts'
import { PodFolder } from './pod-folder.ts'
import { PodKeeper } from './pod-keeper.ts'
import { type InjectorSettings, prepareInjector } from './prepare-injector.ts'
import { ProcessRun } from './process-run.ts'
import { PODS, readPod, type SeenPod } from './read-pod.ts'
import { Slots } from './slots.ts'
import { followTarget } from './target-processes.ts'

export interface AgentDeps {
  readonly kube: Pick<KubeClient, 'request' | 'stream'>
  readonly flags: AgentFlags
  /** Of the injector; unused where pods are only played. */
  readonly command: readonly string[]
  readonly env: Readonly<Record<string, string>>
  readonly log: Log
}

// A tenth of what the API server takes at once by default.
const PARALLEL_WRITES = 20

interface Kept {
  readonly keeper: PodKeeper
  readonly done: Promise<void>
  /** The watch has told that the pod is gone. */
  isLost: boolean
  isDone: boolean
}

export class NodeAgent {
  private readonly deps: AgentDeps
  private readonly kept = new Map<string, Kept>()
  private readonly slots = new Slots(PARALLEL_WRITES)
  private readonly stopped = new AbortController()
  /** Deadlines and graces are held, also where the machine's clock is set back. */
  private readonly now = heldTime()

  constructor(deps: AgentDeps) {
    this.deps = deps
  }

  /** Until the signal. @throws when another agent has its folder. */
  async run(end: AbortSignal): Promise<void> {
    const { flags, log } = this.deps
    const unlock = flags.isPlayed ? undefined : await this.openFolder()
    try {
      await this.follow(end)
      log.info('ending', { pods: this.kept.size, atEnd: flags.atEnd })
    } finally {
      this.stopped.abort()
      const kept = [...this.kept.values()]
      await Promise.all(kept.map(({ done }) => done))
      if (flags.atEnd === 'stop') await Promise.all(kept.map(({ keeper }) => keeper.end()))
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
        else if (this.isOurs(pod)) this.keep(pod, 'disk')
        else
          log.error('left alone a pod that is not asked for', {
            pod: `${pod.namespace}/${pod.name}`,
            node: pod.nodeName,
          })
      } catch (error) {
        // Nobody can tell what it speaks of; a person may.
        log.error('left alone a folder that cannot be read', { folder: folder.path, error: textOf(error) })
      }
    }
    if (this.kept.size > 0) log.info('took up what an agent before has started', { pods: this.kept.size })
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
          this.seeAll(found.objects)
          break
        case 'event':
          if (found.eventType === 'DELETED') this.lose(found.object.metadata.uid ?? '')
          else this.see(found.object)
          break
        case 'interrupted':
          log.warn('the watch was interrupted', { error: textOf(found.error), delayMs: found.delayMs })
      }
    }
  }

  /** A2 */
  private seeAll(objects: readonly KubeObject[]): void {
    const there = new Set(objects.map(({ metadata }) => metadata.uid))
    for (const uid of this.kept.keys()) if (!there.has(uid)) this.lose(uid)
    for (const object of objects) this.see(object)
  }

  private lose(uid: string): void {
    const kept = this.kept.get(uid)
    if (kept === undefined) return
    kept.isLost = true
    if (kept.isDone) this.kept.delete(uid)
    else kept.keeper.see(undefined)
  }

  private isOurs({ namespace, nodeName }: SeenPod): boolean {
    const { flags } = this.deps
    return namespace === flags.namespace && nodeName !== '' && flags.nodes?.has(nodeName) !== false
  }

  private see(object: KubeObject): void {
    const pod = readPod(object)
    const kept = this.kept.get(pod.uid)
    if (kept !== undefined) kept.keeper.see(pod)
    else if (this.isOurs(pod)) this.keep(pod, 'server')
  }

  private keep(pod: SeenPod, from: 'server' | 'disk'): void {
    const { kube, flags, log } = this.deps
    const run = flags.isPlayed ? new PlayedRun(pod, this.now) : this.processOf(pod, () => keeper.nudge())
    const { hostIP, podIP } = flags
    const deps = { kube, run, log, hostIP, podIP, slots: this.slots, now: this.now, random: Math.random }
    const keeper = new PodKeeper(pod, from, deps)
    const done = keeper.keep(this.stopped.signal).then(() => {
      if (this.stopped.signal.aborted) return
      kept.isDone = true
      if (kept.isLost) this.kept.delete(pod.uid)
    })
    const kept: Kept = { keeper, done, isLost: false, isDone: false }
    this.kept.set(pod.uid, kept)
  }

  private processOf({ uid }: SeenPod, nudge: () => void): ProcessRun {
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
        // Only what was told at the start may change.
        if (!existsSync(folder.containers)) return
        const signal = AbortSignal.any([ended, this.stopped.signal])
        void followTarget(pod, folder, { kube, annotation: processesAnnotation, log, signal })
      },
      sweepCommand: [...command, 'sweep'],
      nudge,
      log,
    })
  }
}
